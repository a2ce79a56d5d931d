"""Secrets, and what only looks like one."""

import pytest

from souffleur.knowledge.privacy import find_secret


@pytest.mark.parametrize(
    "text",
    [
        "my password is hunter2024!",
        "the password is kitty(2024)!",
        "密码是 request2024!",
        "password = Tr0ub4dor&3",
        "password: my_secret9!",
        "passwd: os.path9!",
        'password="mypassword"',
        'api_key = "9f8d7a6b5c"',
        'PASSWORD="{{pw}}1"',
        "暗証番号は 4711-9",
    ],
)
def test_a_password_is_a_secret_however_it_is_written(text: str) -> None:
    """What stands after the word, in prose or in code, is taken for the password."""
    assert find_secret(text) == "a password"


@pytest.mark.parametrize(
    "text",
    [
        "password = request.form['password']",
        "password = data.get('password')",
        "password = db.Column(db.String(120), nullable=False)",
        "password = PasswordField('Password')",
        "password = generate_password_hash(password, method='sha256')",
        "apiKey = process.env.OPENWEATHER_API_KEY;",
        "apiKey: 'YOUR_API_KEY_HERE',",
        "API_KEY = 'my_api_key';",
        "PASSWORD=${DB_PASSWORD}",
        '<label for="p">Password:</label>',
        "I forgot my password again, 又忘了密码",
    ],
)
def test_a_program_that_reads_a_password_holds_none(text: str) -> None:
    """Pasted code and its placeholders stay findable."""
    assert find_secret(text) is None
