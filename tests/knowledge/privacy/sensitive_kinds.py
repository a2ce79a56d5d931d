# ruff: noqa: E501  a sentence is one line
"""Secrets, document numbers and contact data of many kinds, and as many lookalikes.

All are made by chance, with a seed, from published formats; none is real. In a form, {a36} stands
for 36 letters or digits, {h32} for hexadecimal digits, {u16} for capitals or digits, {l5} for
letters, {d10} for digits, {b40} for base64. `~` is removed, so that no scanner of commits takes a
form for a key. In a sentence, what must be masked stands between ⟦ and ⟧.
"""

import random
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

from stdnum import luhn
from stdnum.br import cpf
from stdnum.de import idnr
from stdnum.es import dni
from stdnum.fr import nir
from stdnum.in_ import aadhaar
from stdnum.iso7064 import mod_11_10, mod_97_10
from stdnum.jp import in_ as my_number
from stdnum.kr import rrn
from stdnum.pl import pesel

EACH = 5
"""Texts made of each form."""

_SIGNS = {
    "a": string.ascii_letters + string.digits,
    "h": string.digits + "abcdef",
    "u": string.ascii_uppercase + string.digits,
    "U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "l": string.ascii_lowercase,
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "/+",
    "x": string.ascii_letters + string.digits + "_-",
}
_SLOT = re.compile(r"\{([ahuUldbx])([0-9]+)\}")
_FRAMES = (
    "here is the one I use: ⟦{}⟧, keep it",
    "SERVICE_VALUE=⟦{}⟧",
    "帮我看看⟦{}⟧这个对不对",
    "これは⟦{}⟧です",
    'config: {{"value": "⟦{}⟧"}}',
)
_EMPTY_FRAMES = (
    "those begin with {}",
    "put {}<yours> there",
    "set it to {}$TOKEN or so",
    "前缀是 {} 的那种",
    "{}… と書いてある",
)


@dataclass(frozen=True)
class Kind:
    """One kind, and the texts that show it."""

    name: str
    """The kind, in words."""
    texts: tuple[str, ...]
    """Texts that hold one each."""
    lookalikes: tuple[str, ...]
    """Texts that hold none."""


def kinds() -> tuple[Kind, ...]:
    """Return the kinds of secrets and documents with their texts, always the same ones."""
    chance = random.Random(16)
    return (*_keys(chance), *_told(chance), *_numbers(chance))


def contacts() -> tuple[Kind, ...]:
    """Return the kinds of contact data with their texts, always the same ones."""
    chance = random.Random(17)
    return tuple(_told_kind(chance, *one) for one in CONTACTS)


def fill(form: str, chance: random.Random) -> str:
    """Return the form with its slots filled by chance."""
    return _SLOT.sub(
        lambda slot: "".join(chance.choices(_SIGNS[slot[1]], k=int(slot[2]))),
        form.replace("~", ""),
    )


KEYS: dict[str, tuple[str, ...]] = {
    "AWS access key id": ("AK~IA{U16}", "AS~IA{U16}", "AB~IA{U16}", "AC~CA{U16}"),
    "Alibaba Cloud key": ("LT~AI{a20}",),
    "GitHub token": ("gh~p_{a36}", "gh~o_{a36}", "gh~s_{a36}", "github~_pat_{a22}_{a59}"),
    "GitLab token": ("gl~pat-{a20}", "gl~dt-{a20}", "gl~rt-{a20}", "gl~ptt-{h40}", "gl~soat-{a20}"),
    "Slack token": (
        "xo~xb-{d12}-{d12}-{a24}",
        "xo~xp-{d12}-{d12}-{d12}-{h32}",
        "xa~pp-1-A{u10}-{d13}-{h64}",
    ),
    "Slack webhook": ("https://hooks.sl~ack.com/services/T{u8}/B{u8}/{a24}",),
    "Discord token": ("M{a23}.{a6}.{x38}", "https://disc~ord.com/api/webhooks/{d18}/{a68}"),
    "Telegram bot token": ("{d10}:A~A{a33}", "{d9}:A~A{a33}"),
    "Stripe key": ("sk~_live_{a24}", "rk~_live_{a24}", "sk~_test_{a24}", "wh~sec_{a32}"),
    "OpenAI key": ("sk~-proj-{a48}", "sk~-{a48}", "sk~-svcacct-{a48}"),
    "Anthropic key": ("sk~-ant-api03-{a93}AA",),
    "Google API key": ("AI~za{a35}",),
    "Google OAuth": ("ya~29.{a60}", "GO~CSPX-{a28}", "1/~/0{a40}"),
    "SendGrid key": ("S~G.{a22}.{a43}",),
    "Brevo key": ("xkey~sib-{h64}-{a16}",),
    "Mailgun key": ("key~-{h32}",),
    "Mailchimp key": ("{h32}-us~12",),
    "Twilio key": ("S~K{h32}",),
    "npm token": ("np~m_{a36}",),
    "PyPI token": ("py~pi-AgEIcHlwaS5vcmc{a60}",),
    "RubyGems key": ("ruby~gems_{h48}",),
    "xAI key": ("xa~i-{a80}",),
    "Groq key": ("gs~k_{a52}",),
    "Perplexity key": ("pp~lx-{a48}",),
    "Replicate token": ("r~8_{a37}",),
    "Hugging Face token": ("h~f_{a34}",),
    "NVIDIA key": ("nv~api-{a64}",),
    "DigitalOcean token": ("do~p_v1_{h64}", "do~o_v1_{h64}", "do~r_v1_{h64}"),
    "Shopify token": ("shp~at_{h32}", "shp~ss_{h32}"),
    "Heroku key": ("HR~KU-AA{a58}",),
    "Databricks token": ("da~pi{h32}", "da~pi{h32}-2"),
    "Vault token": ("hv~s.{a90}", "hv~b.{a140}"),
    "Terraform token": ("{a14}.atlas~v1.{a64}",),
    "Grafana token": ("gl~sa_{a32}_{h8}", "gl~c_{a60}"),
    "New Relic key": ("NR~AK-{u27}",),
    "Linear key": ("lin~_api_{a40}",),
    "Notion token": ("nt~n_{d11}{a35}", "sec~ret_{a43}"),
    "Figma token": ("fi~gd_{a40}",),
    "Postman key": ("PM~AK-{h24}-{h34}",),
    "Doppler token": ("dp~.pt.{a43}",),
    "PlanetScale token": ("pscale~_tkn_{a43}", "pscale~_pw_{a43}"),
    "Supabase token": ("sb~p_{h40}",),
    "Sentry token": ("sntry~u_{h64}",),
    "Pulumi token": ("pu~l-{h40}",),
    "Square token": ("sq0~atp-{a22}", "sq0~csp-{a43}"),
    "Facebook token": ("EA~AC{a110}",),
    "Atlassian token": ("AT~ATT3{a180}",),
    "age key": ("AGE-SECRET~-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHC",),
    "private key": (
        "-----BEGIN RSA PRIVATE~ KEY-----\n{b64}\n{b64}\n-----END RSA PRIVATE~ KEY-----",
    ),
    "JSON web token": ("ey~JhbGciOiJIUzI1NiJ9.ey~J{a40}.{a43}",),
    "extended private key": ("xp~rv9s21ZrQH143K{a95}",),
    "one-time password address": ("otp~auth://totp/shop:ann?secret={U32}&issuer=shop",),
}
"""Forms of keys and tokens; the formats are those of the providers, as published in the rules of
gitleaks (https://github.com/gitleaks/gitleaks, config/gitleaks.toml, MIT)."""

TOLD: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "AWS secret key",
        ("aws_secret_access_key = ⟦{b39}Q⟧", "my AWS secret is ⟦{b39}Q⟧", "AWS的密钥是⟦{b39}Q⟧"),
        ("the aws-sdk commit {h40}", "aws secret keys are 40 signs long", "AWS 的密钥要定期更换"),
    ),
    (
        "bearer token",
        ("Authorization: Bearer ⟦{a20}7{a20}⟧", "curl -H 'authorization: bearer ⟦{a30}4⟧'"),
        ("the bearer of bad news", "Authorization: Bearer <token>", "bearer bonds of 1923, 7%"),
    ),
    (
        "basic authorization",
        ("Authorization: Basic ⟦{a24}⟧", '"authorization": "Basic ⟦{a20}==⟧"'),
        ("Basic authorization is old", "authorization: basic is enough", "Basic English 850 words"),
    ),
    (
        "connection address",
        (
            "postgres://ann:⟦{a12}⟧@db.example.org:5432/tea",
            "DB是mysql://root:⟦{a9}⟧@127.0.0.1:3306/shop",
            "mongodb+srv://ann:⟦{a14}⟧@cluster0.example.net",
            "redis://:⟦{a16}⟧@cache:6379/0",
            "amqps://mo:⟦{a10}⟧@mq.example.org",
        ),
        (
            "postgres://localhost:5432/tea",
            "redis://cache:6379/0",
            "postgres://user:$PASS@host/db",
            "https://medium.com/@ann:2024",
            "ssh://git@github.com:22/tea.git",
        ),
    ),
    (
        "connection string",
        (
            "Server=db1;Database=tea;User Id=ann;Password=⟦{a12}7⟧;",
            "AccountName=tea;AccountKey=⟦{b86}==⟧;EndpointSuffix=core.windows.net",
            "SharedAccessKeyName=root;SharedAccessKey=⟦{b43}=⟧",
            "host=db1 user=ann password=⟦{a11}4⟧ dbname=tea",
            "Driver=x;Server=h;Uid=ann;Pwd=⟦{a10}8⟧;",
        ),
        (
            "Server=db1;Database=tea;Integrated Security=true;",
            "AccountName=tea;EndpointSuffix=core.windows.net",
            "SharedAccessKeyName=root",
            "host=db1 user=ann dbname=tea",
            "Driver=x;Server=h;Uid=ann;Trusted_Connection=yes;",
        ),
    ),
    (
        "signed address",
        (
            "https://x.blob.core.windows.net/a?sv=2024-01-01&sig=⟦{a43}%3D⟧",
            "https://b.s3.amazonaws.com/k?X-Amz-Signature=⟦{h64}⟧",
            "https://api.example.org/v1?access_token=⟦{a32}⟧",
            "https://api.example.org/v1?api_key=⟦{a32}⟧&x=1",
            "https://x.example.org/?token=⟦{h40}⟧",
        ),
        (
            "https://shop.example.org/?sort=price&page=12",
            "https://x.example.org/?utm_source=mail&id={d8}",
            "https://youtu.be/{a11}",
            "https://x.example.org/?token=1&page=2",
            "https://x.example.org/?design=blue2024",
        ),
    ),
    (
        "WiFi code",
        ("WIFI:T:WPA;S:Home;P:⟦{a12}⟧;;", "WIFI:S:Cafe;T:WPA;P:⟦{a10}⟧;;"),
        ("WIFI:T:nopass;S:Cafe;;", "wifi: slow, 5GHz better", "WiFi 6 router, 2 of them"),
    ),
    (
        "password in English",
        (
            "password ⟦hunter{d4}!⟧",
            "my password's ⟦Tea{d4}two⟧",
            "the password for the wifi is ⟦{l6}{d3}⟧",
            "I changed my password to ⟦{l5}-{d4}⟧",
            "my login is ann and my passcode is ⟦{l4}{d5}⟧",
        ),
        (
            "my password is too weak, she says",
            "I changed my password in 2023",
            "passwords need 12 characters",
            "the password expired 30 days ago",
            "I forgot my password 3 times",
        ),
    ),
    (
        "password in Chinese",
        (
            "密码是⟦{l4}{d4}⟧",
            "wifi密码：⟦{l6}{d3}⟧",
            "我的登录密码 ⟦{l5}{d4}!⟧",
            "账号ann，密码⟦{l6}{d2}⟧",
            "密碼是⟦{l5}{d5}⟧",
        ),
        ("密码很重要", "密码要8位以上", "我忘了密码2次", "密码是2021年设的", "密码错了3遍"),
    ),
    (
        "password changed in Chinese",
        (
            "密码改成了⟦{l4}{d4}⟧",
            "密码从⟦{l5}{d3}⟧改成⟦{l3}{d5}⟧",
            "我把密码换成⟦{l4}{d4}⟧了",
            "密码改为 ⟦{l4}{d4}⟧ 了",
            "密码已经更新为⟦{l4}{d4}⟧",
        ),
        (
            "密码从没改过",
            "密码从2020年起没改过",
            "密码改成了更长的",
            "密码上周3改的",
            "密码换成了指纹",
        ),
    ),
    (
        "password in Japanese",
        (
            "パスワードは⟦{l4}{d4}⟧です",
            "パスワード：⟦{l6}{d3}⟧",
            "パスワードを⟦{l4}{d4}⟧に変えました",
            "パスワードを⟦{l4}{d3}⟧から⟦{l3}{d4}⟧に変更した",
            "パスコードは⟦{d6}⟧だよ",
        ),
        (
            "パスワードを忘れた",
            "パスワードは8文字以上",
            "パスワードを3回間違えた",
            "パスワードは2024年に変えた",
            "パスワード管理アプリ",
        ),
    ),
    (
        "password in French",
        (
            "mon mot de passe est ⟦{l6}{d4}⟧",
            "le mot de passe du wifi, c'est ⟦{l5}{d3}!⟧",
            "mot de passe : ⟦{l4}{d4}⟧",
            "j'ai changé mon mot de passe en ⟦{l5}{d4}⟧",
            "le code d'accès est ⟦{l3}{d5}⟧",
        ),
        (
            "j'ai oublié mon mot de passe",
            "le mot de passe est trop court",
            "un mot de passe de 12 caractères",
            "j'ai changé mon mot de passe en 2023",
            "mot de passe expiré depuis 30 jours",
        ),
    ),
    (
        "password in Spanish",
        (
            "mi contraseña es ⟦{l6}{d4}⟧",
            "la contraseña del wifi es ⟦{l5}{d3}!⟧",
            "contraseña: ⟦{l4}{d4}⟧",
            "cambié la contraseña a ⟦{l5}{d4}⟧",
            "la clave de acceso es ⟦{l4}{d4}⟧",
        ),
        (
            "olvidé mi contraseña",
            "la contraseña es muy corta",
            "una contraseña de 12 caracteres",
            "cambié la contraseña en 2023",
            "la clave es dormir 8 horas",
        ),
    ),
    (
        "password in German",
        (
            "mein Passwort ist ⟦{l6}{d4}⟧",
            "das Passwort fürs WLAN ist ⟦{l5}{d3}!⟧",
            "Passwort: ⟦{l4}{d4}⟧",
            "ich habe mein Passwort auf ⟦{l5}{d4}⟧ geändert",
            "das Kennwort lautet ⟦{l4}{d4}⟧",
        ),
        (
            "ich habe mein Passwort vergessen",
            "das Passwort ist zu kurz",
            "ein Passwort mit 12 Zeichen",
            "ich habe mein Passwort 2023 geändert",
            "das Kennwort läuft in 30 Tagen ab",
        ),
    ),
    (
        "password in Korean",
        (
            "비밀번호는 ⟦{l4}{d4}⟧야",
            "와이파이 비밀번호: ⟦{l6}{d3}⟧",
            "비밀번호를 ⟦{l4}{d4}⟧로 바꿨어",
            "비번은 ⟦{l4}{d4}⟧ 입니다",
            "내 패스워드는 ⟦{l5}{d3}!⟧",
        ),
        (
            "비밀번호를 잊어버렸어",
            "비밀번호는 8자 이상",
            "비밀번호를 3번 틀렸어",
            "비밀번호는 2023년에 바꿨어",
            "비밀번호 관리자 추천해줘",
        ),
    ),
    (
        "PIN",
        (
            "my PIN is ⟦{d4}⟧.",
            "pin: ⟦{d6}⟧",
            "PIN码是⟦{d4}⟧",
            "暗証番号は⟦{d4}⟧です",
            "the pin code for my phone is ⟦{d4}⟧",
        ),
        (
            "pin 3 of the plug",
            "I pinned 2024 posts",
            "暗証番号は4桁です",
            "pins cost 4 dollars",
            "PIN码是4位数",
        ),
    ),
    (
        "seed phrase",
        (
            "my seed phrase: ⟦witch collapse practice feed shame open despair creek road again ice least⟧",
            "the recovery phrase is ⟦ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic⟧",
            "助记词是 ⟦gravity machine north sort system female filter attitude volume fold club stay⟧",
            "シードフレーズは⟦hamster diagram private dutch cause delay private meat slide toddler razor book⟧です",
            'mnemonic = "⟦scheme spot photo card baby mountain device kick cradle pact join borrow⟧"',
        ),
        (
            "a seed phrase has 12 or 24 words",
            "never share your recovery phrase with anybody who asks for it online or by telephone",
            "助记词要写在纸上",
            "シードフレーズは12語です",
            "the mnemonic for planets is my very educated mother just served us nachos",
        ),
    ),
    (
        "wallet key",
        (
            "my private key is ⟦0x{h64}⟧",
            "钱包私钥：⟦{h64}⟧",
            "wallet private key ⟦{h64}⟧",
            "秘密鍵は⟦0x{h64}⟧です",
            "PRIVATE_KEY=⟦0x{h64}⟧",
        ),
        (
            "tx 0x{h64}",
            "sha256: {h64}",
            "the image digest is {h64}",
            "交易哈希 0x{h64}",
            "block {h64} was mined",
        ),
    ),
    (
        "safe or door code",
        (
            "the safe combination is ⟦{d2}-{d2}-{d2}⟧",
            "door code ⟦{d4}⟧",
            "保险箱密码是⟦{d6}⟧",
            "the code for the gate is ⟦{d4}#⟧",
            "金庫の番号は⟦{d4}⟧です",
        ),
        (
            "a safe weighs 120 kg",
            "the door code was changed in 2024",
            "保险箱在3楼",
            "the gate opens at 8:30",
            "金庫は2つある",
        ),
    ),
    (
        "card check code",
        (
            "CVV ⟦{d3}⟧",
            "the cvv is ⟦{d3}⟧, exp 09/29",
            "安全码是⟦{d3}⟧",
            "セキュリティコードは⟦{d3}⟧です",
            "CVC: ⟦{d3}⟧",
        ),
        (
            "the CVV has 3 digits",
            "cvc is on the back",
            "安全码是3位数",
            "セキュリティコードは3桁",
            "the CVs of 300 people",
        ),
    ),
    (
        "one-time code in English",
        (
            "your verification code is ⟦{d6}⟧",
            "⟦{d6}⟧ is your security code",
            "the OTP: ⟦{d6}⟧",
            "my login code was ⟦{d3}-{d3}⟧",
            "enter the 2FA code ⟦{d6}⟧",
        ),
        (
            "the verification code expires in 10 minutes",
            "a code review of PR 123456",
            "OTP codes have 6 digits",
            "the zip code is 94110",
            "my country code is 49",
        ),
    ),
    (
        "one-time code in Chinese",
        (
            "验证码是⟦{d6}⟧",
            "【银行】您的验证码⟦{d6}⟧，5分钟内有效",
            "驗證碼：⟦{d6}⟧",
            "短信验证码 ⟦{d4}⟧",
            "动态码⟦{d6}⟧别告诉别人",
        ),
        (
            "验证码是6位数字",
            "验证码5分钟内有效",
            "没收到验证码，等了20分钟",
            "邮政编码100080",
            "验证码发了3次",
        ),
    ),
    (
        "one-time code in other languages",
        (
            "認証コードは⟦{d6}⟧です",
            "인증번호는 ⟦{d6}⟧ 입니다",
            "votre code de vérification est ⟦{d6}⟧",
            "tu código de verificación es ⟦{d6}⟧",
            "Ihr Bestätigungscode lautet ⟦{d6}⟧",
        ),
        (
            "認証コードは6桁です",
            "인증번호는 6자리",
            "le code postal est 75011",
            "el código postal es 28013",
            "die Postleitzahl ist 10115",
        ),
    ),
    (
        "recovery codes",
        (
            "my backup codes: ⟦{h5}-{h5}⟧",
            "recovery code ⟦{u4}-{u4}-{u4}7⟧",
            "backup code is ⟦{d8}⟧",
            "恢复码是⟦{u5}-{u4}3⟧",
            "リカバリーコードは⟦{u4}-{u3}8⟧です",
        ),
        (
            "print your backup codes",
            "recovery codes are 10 in number",
            "恢复码有10个",
            "backup code of 2024 lines",
            "リカバリーコードは10個ある",
        ),
    ),
    (
        "passport number",
        (
            "my passport number is ⟦{d9}⟧",
            "passport no. ⟦C{d8}⟧",
            "护照号是⟦E{d8}⟧",
            "パスポート番号は⟦TK{d7}⟧です",
            "Needed my passport, ⟦{d9}⟧, renewed",
        ),
        (
            "my passport expires in 2031",
            "a passport costs 130 dollars",
            "护照办了15天",
            "パスポートは10年有効",
            "passport photo 35x45",
        ),
    ),
    (
        "driving licence number",
        (
            "my driver's license number is ⟦D{d7}⟧",
            "driving licence no: ⟦MORGA{d6}SM9IJ⟧",
            "驾照号是⟦{d12}⟧",
            "運転免許証の番号は⟦{d12}⟧です",
            "driver license ⟦{u1}{d12}⟧",
        ),
        (
            "I got my driver's license in 2009",
            "the driving licence costs 34 pounds",
            "驾照考了3次",
            "運転免許は2019年に取った",
            "license plate, 5 years old",
        ),
    ),
    (
        "tax number",
        (
            "my tax id is ⟦{d3}-{d2}-{d4}⟧",
            "TIN: ⟦{d9}⟧",
            "纳税人识别号⟦{d15}⟧",
            "mon numéro fiscal est ⟦{d13}⟧",
            "Steuernummer: ⟦{d2}/{d3}/{d5}⟧",
        ),
        (
            "my tax was 1234 euros",
            "TIN is short for tax number",
            "纳税2023年度",
            "mon avis fiscal de 2023",
            "Steuer 2023: 4500 Euro",
        ),
    ),
    (
        "bank account number",
        (
            "my account number is ⟦{d8}⟧, sort code 20-00-00",
            "bank account: ⟦{d10}⟧",
            "银行账号是⟦62{d14}⟧",
            "口座番号は⟦{d7}⟧です",
            "account no. ⟦{d12}⟧",
        ),
        (
            "I have 2 bank accounts",
            "the account is 12 years old",
            "银行账号有3个",
            "口座は2つあります",
            "account number 3 of the list",
        ),
    ),
)

CONTACTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "phone number",
        (
            "call me on ⟦+44 7700 900{d3}⟧",
            "我的手机是⟦138{d8}⟧",
            "電話は⟦090-{d4}-{d4}⟧です",
            "my number: ⟦(415) 555-01{d2}⟧",
            "⟦+49 30 {d8}⟧ is my office",
        ),
        (
            "it costs 12,345,678 won",
            "order {d14}",
            "from 2019-01-01 to 2020-02-02",
            "3.14159265358979",
            "192.168.10.200 is the router",
        ),
    ),
    (
        "e-mail address",
        (
            "write to ⟦ann.{l5}@example.org⟧",
            "邮箱是⟦{l6}@example.com⟧",
            "メールは⟦{l4}{d2}@example.co.jp⟧です",
            "mail: ⟦{l3}+tea@mail.example.net⟧.",
            "<⟦{l7}@example.io⟧>",
        ),
        (
            "meet @ann at 5",
            "ann@home",
            "git@github.com:ann/tea.git",
            "pip install tea@1.2.3",
            "@media print",
        ),
    ),
)


def _keys(chance: random.Random) -> Iterator[Kind]:
    for name, forms in KEYS.items():
        texts = (
            frame.format(fill(forms[index % len(forms)], chance))
            for index, frame in enumerate(_FRAMES)
        )
        prefix = _SLOT.split(forms[0].replace("~", ""))[0].split("1QPZ")[0]
        prefix = "a " if "PRIVATE" in prefix else prefix
        yield Kind(name, tuple(texts), tuple(_empty(prefix, chance)))


def _empty(prefix: str, chance: random.Random) -> Iterator[str]:
    for frame in _EMPTY_FRAMES:
        yield frame.format(prefix)
    yield fill("commit {h40}, see the log", chance)
    yield fill("id {h8}-{h4}-{h4}-{h4}-{h12}", chance)


def _told(chance: random.Random) -> Iterator[Kind]:
    for one in TOLD:
        yield _told_kind(chance, *one)


def _told_kind(
    chance: random.Random, name: str, forms: tuple[str, ...], lookalikes: tuple[str, ...]
) -> Kind:
    texts = (fill(forms[index % len(forms)], chance) for index in range(max(EACH, len(forms))))
    return Kind(name, tuple(texts), tuple(fill(one, chance) for one in lookalikes))


def _numbers(chance: random.Random) -> Iterator[Kind]:
    for name, make, frames, lookalikes in NUMBERS:
        texts = (frames[index % len(frames)].format(f"⟦{make(chance)}⟧") for index in range(EACH))
        yield Kind(name, tuple(texts), tuple(fill(one, chance) for one in lookalikes))


def _digits(chance: random.Random, count: int) -> str:
    return "".join(chance.choices(string.digits, k=count))


def _card(chance: random.Random) -> str:
    body = chance.choice(["4", "51", "55", "62"])
    body += _digits(chance, 15 - len(body))
    return body + luhn.calc_check_digit(body)


def _iban(chance: random.Random) -> str:
    country, count = chance.choice([("DE", 18), ("PL", 24), ("AT", 16), ("SE", 20)])
    for _ in range(10_000):
        body = _digits(chance, count)
        number = f"{country}{mod_97_10.calc_check_digits(body + country)}{body}"
        if chance.random() < 0.5:
            return number
        return " ".join(number[at : at + 4] for at in range(0, len(number), 4))
    raise AssertionError


def _ssn(chance: random.Random) -> str:
    return f"{chance.randint(100, 600)}-{chance.randint(10, 99)}-{chance.randint(1000, 9999)}"


def _resident(chance: random.Random) -> str:
    body = f"{chance.choice(['110105', '310115', '440305'])}{chance.randint(1950, 2005)}"
    body += f"{chance.randint(1, 12):02}{chance.randint(1, 28):02}{_digits(chance, 3)}"
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(digit) * weight for digit, weight in zip(body, weights, strict=True))
    return body + "10X98765432"[total % 11]


def _dni(chance: random.Random) -> str:
    body = _digits(chance, 8)
    return body + dni.calc_check_digit(body)


def _nir(chance: random.Random) -> str:
    body = f"{chance.choice('12')}{chance.randint(40, 99)}{chance.randint(1, 12):02}75{_digits(chance, 6)}"
    return body + nir.calc_check_digits(body)


def _idnr(chance: random.Random) -> str:
    while True:
        body = _digits(chance, 10)
        number = body + str(mod_11_10.calc_check_digit(body))
        if idnr.is_valid(number):
            return number


def _cpf(chance: random.Random) -> str:
    while True:
        body = _digits(chance, 9)
        number = body + cpf._calc_check_digits(body)
        if cpf.is_valid(number):
            return str(cpf.format(number))


def _rrn(chance: random.Random) -> str:
    while True:
        body = f"{chance.randint(60, 99)}{chance.randint(1, 12):02}{chance.randint(1, 28):02}"
        body += f"{chance.choice('12')}{_digits(chance, 5)}"
        number = body + rrn.calc_check_digit(body)
        if rrn.is_valid(number):
            return f"{number[:6]}-{number[6:]}"


def _my_number(chance: random.Random) -> str:
    body = _digits(chance, 11)
    return body + my_number.calc_check_digit(body)


def _aadhaar(chance: random.Random) -> str:
    while True:
        number = chance.choice("23456789") + _digits(chance, 11)
        if aadhaar.is_valid(number):
            return str(aadhaar.format(number))


def _pesel(chance: random.Random) -> str:
    while True:
        number = f"{chance.randint(50, 99)}{chance.randint(1, 12):02}{_digits(chance, 7)}"
        if pesel.is_valid(number):
            return number


def _nino(chance: random.Random) -> str:
    return (
        f"{chance.choice('ABCEG')}{chance.choice('ABCE')} "
        + " ".join(_digits(chance, 2) for _ in range(3))
        + f" {chance.choice('ABCD')}"
    )


def _plain_frames(label: str) -> tuple[str, ...]:
    return ("{}", label + " {}", f"({label}: {{}})", "それは{}です", "是{}，请保密")


def _labelled(*labels: str) -> tuple[str, ...]:
    return tuple(f"{label} {{}}" for label in labels)


NUMBERS = (
    (
        "payment card number",
        _card,
        _plain_frames("pay with"),
        (
            "order 1234567890123456",
            "IMEI 356938035643809",
            "4111 1111 1111 1112",
            "{d12}",
            "π = 3.14159265358979",
        ),
    ),
    (
        "IBAN",
        _iban,
        _plain_frames("transfer to"),
        (
            "DE00 1234 5678 9012 3456 00",
            "an IBAN of DE has 22 signs",
            "VAT DE123456789",
            "flight DE1234",
            "SE05 is a postcode",
        ),
    ),
    (
        "US social security number",
        _ssn,
        (
            "my SSN is {}",
            "SSN: {}",
            "social security number {}",
            "ssn {}, born 1980",
            "社保号SSN是{}",
        ),
        (
            "part no. 123-45-6789",
            "the SSN has 9 digits",
            "000-12-3456",
            "dial 555-12-34",
            "social security pays 1234 dollars",
        ),
    ),
    (
        "Chinese resident identity number",
        _resident,
        _plain_frames("id card"),
        (
            "110105194912310021",
            "order 202401031030001234",
            "身份证110105开头",
            "身份证有18位",
            "1949-12-31",
        ),
    ),
    (
        "Spanish DNI",
        _dni,
        _labelled("mi DNI es", "DNI:", "dni", "NIF", "mi número de DNI es"),
        (
            "el DNI tiene 8 cifras",
            "DNI caducado en 2023",
            "12345678 pesetas",
            "item 12345678A",
            "mi DNI caduca el 12 de mayo",
        ),
    ),
    (
        "French NIR",
        _nir,
        _labelled(
            "mon numéro de sécu est le",
            "NIR :",
            "numéro de sécurité sociale",
            "sécurité sociale :",
            "nir",
        ),
        (
            "la sécu rembourse 15 euros",
            "185017500000099",
            "NIR 750 nm",
            "sécurité sociale depuis 1945",
            "commande 1850175000000",
        ),
    ),
    (
        "German tax id",
        _idnr,
        _labelled(
            "meine Steuer-ID ist",
            "Steuer-ID:",
            "steuerliche Identifikationsnummer",
            "IdNr.",
            "Steueridentifikationsnummer:",
        ),
        (
            "die Steuer-ID hat 11 Ziffern",
            "12345678901 Sterne",
            "Steuer 2023",
            "Bestellung 12345678901",
            "IdNr. fehlt",
        ),
    ),
    (
        "Brazilian CPF",
        _cpf,
        _labelled("meu CPF é", "CPF:", "cpf", "o CPF", "CPF nº"),
        (
            "o CPF tem 11 dígitos",
            "111.222.333-00",
            "CPF em 2023",
            "versão 1.2.3-4",
            "pedido 12345678900",
        ),
    ),
    (
        "Korean resident number",
        _rrn,
        _labelled(
            "주민등록번호는", "주민번호:", "RRN", "resident registration number", "주민등록번호"
        ),
        ("주민번호는 13자리", "990101-000", "주민등록번호 앞 6자리", "820101-2", "연도 2023"),
    ),
    (
        "Japanese My Number",
        _my_number,
        _labelled("マイナンバーは", "マイナンバー：", "個人番号", "my number card:", "個人番号は"),
        (
            "マイナンバーは12桁",
            "注文 123456789012",
            "個人番号カード",
            "マイナンバー制度は2016年から",
            "my number one song",
        ),
    ),
    (
        "Indian Aadhaar",
        _aadhaar,
        _labelled("my Aadhaar is", "aadhaar number:", "Aadhaar no.", "आधार", "Aadhaar:"),
        (
            "Aadhaar has 12 digits",
            "1234 5678 9012",
            "aadhaar since 2010",
            "order 2345 6789 0123",
            "Aadhaar card lost",
        ),
    ),
    (
        "Polish PESEL",
        _pesel,
        _labelled("mój PESEL to", "PESEL:", "pesel", "numer PESEL", "PESEL nr"),
        ("PESEL ma 11 cyfr", "12345678901", "PESEL od 1979", "zamówienie 44051401358", "numer 5"),
    ),
    (
        "UK national insurance number",
        _nino,
        _labelled(
            "my NI number is",
            "NINO:",
            "national insurance number",
            "National Insurance no.",
            "NI number",
        ),
        (
            "NI number has 9 signs",
            "AB 12",
            "national insurance of 1946",
            "Route AB 12",
            "NI is Northern Ireland",
        ),
    ),
)
"""Document numbers with check digits: name, maker, sentences, lookalikes."""
