# ruff: noqa: E501  a sentence is one line
"""Secrets and lookalikes that were written without the rules at hand, to measure them once.

All are made by chance, with a seed, from published formats; none is real. What must be masked
stands between ⟦ and ⟧.
"""

import random
import string

_CHANCE = random.Random(20261123)


def rnd(alphabet: str, length: int) -> str:
    """Return so many signs of an alphabet."""
    return "".join(_CHANCE.choice(alphabet) for _ in range(length))


AN = string.ascii_letters + string.digits
LOW = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
DIG = string.digits
UP = string.ascii_uppercase + string.digits
URL = AN + "_-"

SECRETS = [
    # provider keys in sentences
    (
        "shopify",
        "ok so the shop broke again, the admin token is ⟦shpat_"
        + rnd(HEX, 32)
        + "⟧ can you check the scope?",
    ),
    ("supabase", "j'ai mis ⟦sbp_" + rnd(HEX, 40) + "⟧ dans le .env, c'est grave ?"),
    ("linear", "lin key: ⟦lin_api_" + rnd(AN, 40) + "⟧"),
    (
        "notion",
        "my notion integration ⟦ntn_" + rnd(DIG, 11) + rnd(AN, 35) + "⟧ keeps returning 401",
    ),
    ("hugging face", "für das modell brauchst du ⟦hf_" + rnd(string.ascii_letters, 34) + "⟧"),
    (
        "telegram bot",
        "机器人的token是⟦"
        + rnd("123456789", 1)
        + rnd(DIG, 9)
        + ":AA"
        + rnd(URL, 33)
        + "⟧，别发出去",
    ),
    (
        "discord bot",
        "client.run('⟦MTE"
        + rnd(AN, 23)
        + "."
        + rnd(AN, 6)
        + "."
        + rnd(URL, 38)
        + "⟧') is what i have",
    ),
    (
        "slack webhook",
        "post it to ⟦https://hooks.slack.com/services/T"
        + rnd(UP, 8)
        + "/B"
        + rnd(UP, 10)
        + "/"
        + rnd(AN, 24)
        + "⟧ please",
    ),
    ("figma", "figma token ⟦figd_" + rnd(URL, 40) + "⟧ expires in june"),
    ("sentry", "SENTRY_AUTH_TOKEN=⟦sntrys_eyJ" + rnd(AN, 60) + "⟧"),
    ("pypi", "password = ⟦pypi-AgEIcHlwaS5vcmc" + rnd(URL, 90) + "⟧"),
    (
        "azure storage",
        "DefaultEndpointsProtocol=https;AccountName=mara;AccountKey=⟦"
        + rnd(AN + "+/", 86)
        + "==⟧;EndpointSuffix=core.windows.net",
    ),
    ("gitlab", "git clone using ⟦glpat-" + rnd(URL, 20) + "⟧ works, the deploy key doesn't"),
    ("atlassian", "jira: ⟦ATATT3xFfGF0" + rnd(URL, 120) + "=" + rnd(UP, 8) + "⟧"),
    ("anthropic", "これ使って → ⟦sk-ant-api03-" + rnd(URL, 93) + "AA⟧"),
    ("generic env", "DB_PASS=⟦" + rnd(AN, 14) + "!⟧\nDB_HOST=localhost"),
    (
        "basic auth header",
        "curl -H 'Authorization: Basic ⟦" + rnd(AN, 26) + "==⟧' https://example.org/api",
    ),
    ("redis url", "redis://:⟦" + rnd(AN, 18) + "⟧@10.0.0.12:6379/0 is the cache"),
    ("json secret", '{"client_id": "bot-7", "client_secret": "⟦' + rnd(AN + "~._", 40) + '⟧"}'),
    (
        "ssh key",
        "⟦-----BEGIN OPENSSH PRI"
        "VATE KEY-----\n"
        + "\n".join(rnd(AN + "+/", 70) for _ in range(5))
        + "\n-----END OPENSSH PRI"
        "VATE KEY-----⟧",
    ),
    (
        "age key",
        "backup key is ⟦AGE-SECRET-KEY-1" + rnd("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58) + "⟧",
    ),
    (
        "onion of jwt",
        "the cookie says session=⟦eyJhbGciOiJIUzI1NiJ9." + rnd(URL, 50) + "." + rnd(URL, 43) + "⟧",
    ),
    # passwords said
    ("password en", "i finally changed my netflix password to ⟦Blau-Kraut77⟧ so mum can't watch"),
    ("password en hint", "pw for the shared laptop: ⟦oatmeal_99_stout⟧"),
    ("password en its", "my gmail login is mara.k, and the pass is ⟦Tr0mbone#Lake⟧"),
    ("password en quotes", 'the password we agreed on was "⟦seven otters 4 tea⟧"'),
    ("password en unlock", "to unlock my phone just type ⟦284917⟧"),
    ("password zh", "我邮箱密码是⟦Xiaomao1998!⟧，你帮我记一下"),
    ("password zh wifi", "家里wifi密码换了，现在是⟦chunjie888⟧"),
    ("password zh bank", "银行卡密码⟦483920⟧，别忘了"),
    ("password ja", "ログインパスワードは⟦Sakura2019!⟧です"),
    ("password ja pin", "キャッシュカードの暗証番号は⟦4471⟧だよ"),
    ("password de", "mein WLAN-Passwort lautet ⟦KaffeeImmer!42⟧, falls du fragst"),
    ("password de kennwort", "Kennwort fürs Büro ist ⟦Winter2026$Tor⟧"),
    ("password de pin", "die PIN von meiner EC-Karte ist ⟦7093⟧"),
    ("password fr", "le mot de passe du wifi c'est ⟦Chaton.Noir59⟧"),
    ("password fr digicode", "le digicode de l'immeuble : ⟦48B26⟧"),
    ("password fr mdp", "mdp : ⟦Olive&Citron3⟧"),
    ("password es", "la contraseña de mi correo es ⟦MiPerro#2021⟧"),
    ("password es clave", "la clave del wifi es ⟦gato.azul77⟧, apúntala"),
    ("password es pin", "el pin de mi tarjeta es ⟦9042⟧"),
    ("password ko", "와이파이 비밀번호는 ⟦haneul0412!⟧ 이야"),
    ("password ko bi", "넷플릭스 비번 ⟦gimbap#77⟧ 이거 맞지?"),
    ("door ko", "현관 비밀번호 ⟦8841*⟧ 누르면 돼"),
    # codes
    ("otp en", "Your login code: ⟦719 402⟧. Do not share it."),
    ("otp de", "Ihre TAN lautet ⟦482913⟧ und gilt 5 Minuten"),
    ("otp fr", "votre code de vérification est le ⟦620194⟧"),
    ("otp zh", "【招商银行】验证码：⟦384756⟧，5分钟内有效"),
    ("otp ko", "[카카오] 인증번호 ⟦551028⟧ 를 입력해 주세요"),
    (
        "totp seed",
        "otpauth://totp/GitHub:mara?secret=⟦"
        + rnd("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32)
        + "⟧&issuer=GitHub",
    ),
    ("alarm code", "alarm code at the summer house is ⟦5829⟧, side door"),
    ("safe zh", "保险箱密码左三圈⟦38-12-67⟧"),
    (
        "seed",
        "my 12 words: ⟦ladder velvet crisp ocean timber fiction rabbit glove humble spray dentist orbit⟧ (wallet)",
    ),
    # documents
    ("iban de", "überweis es bitte auf ⟦DE89 3704 0044 0532 0130 00⟧"),
    ("iban fr", "mon RIB : ⟦FR14 2004 1010 0505 0001 3M02 606⟧"),
    ("card es", "mi tarjeta es la ⟦4539 1488 0343 6467⟧, caduca 08/27"),
    ("card amex", "put it on the amex ⟦3782 822463 10005⟧"),
    ("ssn", "social is ⟦536-22-8145⟧ if they ask"),
    ("passport de", "mein Reisepass hat die Nummer ⟦C01X00T47⟧"),
    ("dni", "mi DNI: ⟦12345678Z⟧"),
    ("id zh", "身份证号⟦11010519491231002X⟧"),
    ("my number", "マイナンバーは⟦1234 5678 9018⟧です"),
    ("rrn", "주민번호 ⟦900101-1234568⟧ 이에요"),
    ("nino", "my national insurance number is ⟦JG 10 37 59 A⟧"),
    ("nir", "mon numéro de sécu est ⟦1 84 12 76 451 089 46⟧"),
    ("steuer-id", "meine Steuer-ID: ⟦86 095 742 719⟧"),
]

LOOKALIKES = [
    ("git hash", "the bug came in with " + rnd(HEX, 40) + ", I bisected it"),
    ("uuid", "order ref " + "-".join(rnd(HEX, n) for n in (8, 4, 4, 4, 12)) + " never arrived"),
    ("sha256", "sha256: " + rnd(HEX, 64) + "  ubuntu.iso"),
    ("sri", '<script integrity="sha384-' + rnd(AN + "+/", 64) + '"></script>'),
    ("youtube", "watch https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=43s, it's short"),
    ("spotify", "spotify:track:4uLU6hMCjMI75M1A2tKUQC is our song"),
    (
        "docs link",
        "the plan is in https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
    ),
    ("isbn", "the book is ISBN 978-3-16-148410-0, quite dull"),
    ("tracking", "DHL says 00340434161094042557 is in Leipzig"),
    ("tracking ups", "1Z999AA10123456784 should be here by Tuesday"),
    ("flight", "I'm on LH 454 to SFO, booking K7R2PQ"),
    ("order", "order number 112-7365481-2093847 was the kettle"),
    ("date time", "see you 2026-11-23 18:30 at gate 4"),
    ("phone-like sum", "we raised 1,204,500 in 2019 and 2,310,775 in 2023"),
    ("coords", "the hut is at 47.421092, 10.985305"),
    ("big number", "the population was 125416877 in 2020"),
    ("pi", "I know pi to 3.14159265358979323846"),
    ("ip mac", "router 192.168.178.1, mac 3c:22:fb:91:0a:7e"),
    ("password talk en", "I forgot my password again and had to wait an hour for the reset mail"),
    ("password talk en2", "my password is too long, I hate it"),
    (
        "password talk en3",
        "the password is the name of my first cat, obviously I won't tell you which",
    ),
    ("password talk en4", "password managers changed my life in 2021"),
    ("password rule", "passwords must have 12 characters and 1 digit"),
    ("password talk zh", "我又忘记密码了，等了30分钟才收到邮件"),
    ("password talk zh2", "密码至少要8位数字，真麻烦"),
    ("password talk ja", "パスワードを忘れて3回も間違えた"),
    ("password talk ja2", "暗証番号は4桁じゃないとだめらしい"),
    ("password talk de", "mein Passwort läuft alle 90 Tage ab"),
    ("password talk fr", "j'ai oublié mon mot de passe pour la 3e fois"),
    ("password talk es", "la contraseña tiene que tener 8 caracteres"),
    ("password talk ko", "비밀번호를 5번이나 틀렸어"),
    ("clave es", "la clave del éxito es dormir 8 horas"),
    ("key en", "the key is under the pot, third one from the left"),
    ("key music", "the song is in the key of F sharp, 128 bpm"),
    ("secret en", "her secret is 3 spoons of butter in the sauce"),
    ("token en", "I bought 40 tokens for the arcade"),
    ("token llm", "it costs 2291 tokens per turn, max_tokens=4096"),
    ("code zip", "my postal code is 10115, Berlin"),
    ("code error", "error code 50012 on the washing machine"),
    ("code dress", "dress code is smart casual, 1920s"),
    ("code review", "in code review 2 people asked for changes"),
    ("area code", "area code 4155 isn't real"),
    ("pin badge", "my pin collection has 1200 pieces"),
    ("pin bowling", "knocked all 10 pins down twice"),
    ("tan colour", "I got a tan in 3 days"),
    ("safe", "we were safe at 2400 meters"),
    ("combination", "the combination 3-4-3 suits our team"),
    ("passport talk", "my passport expires 2031-04-12"),
    ("passport talk de", "mein Reisepass hat 60 Euro gekostet"),
    ("id talk zh", "身份证要等20天才能拿到"),
    ("card talk", "my card has a limit of 5000 euros"),
    ("visa", "visa costs 160 dollars and takes 21 days"),
    ("iban talk", "an IBAN has 22 digits in Germany"),
    ("ssn talk", "a social security number has 9 digits"),
    (
        "seed talk",
        "seeds i planted: basil mint dill thyme parsley chive sage rosemary lavender fennel borage lovage",
    ),
    (
        "words list",
        "my 12 favourite words are lake moss amber thistle plum crow bell salt wool fern ash dew",
    ),
    ("env", "export MODEL=qwen3-8b-instruct-2507 PORT=8000"),
    ("placeholder", "set api_key=YOUR_API_KEY_HERE in the file"),
    ("masked", "password: ******** is all it shows"),
    ("var", "password = os.environ['DB_PASSWORD'] is how we read it"),
    ("docker", "image: ghcr.io/mara/app@sha256:" + rnd(HEX, 64)),
    ("base64 picture", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"),
    ("model id", "claude-sonnet-4-5-20250929 answered better than gpt-4.1-mini-2025-04-14"),
    ("doi", "doi:10.1145/3442188.3445922 is the paper"),
    ("arxiv", "arXiv:2310.08560v2, section 4"),
    ("score", "we won 21-19, 18-21, 21-17"),
    ("sizes", "screen is 2560x1440, 165 Hz, 27 inch"),
    ("lotto", "lotto numbers 4 8 15 16 23 42"),
    ("wifi talk", "the wifi on the train does 5 mbit"),
    ("ref fr", "mon dossier no 2024-118-B est en attente"),
    ("login talk de", "ich habe mich seit 14 Tagen nicht eingeloggt"),
    ("chess", "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6"),
]
