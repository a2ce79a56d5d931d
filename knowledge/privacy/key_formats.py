r"""Formats of keys and tokens that their providers mark by a prefix or a form of its own.

The formats are facts published by the providers, collected in the rules of gitleaks
(https://github.com/gitleaks/gitleaks, config/gitleaks.toml, MIT). These are parts of one pattern.
"""

PREFIXED = (
    r"LTAI[A-Za-z0-9]{12,}+",  # Alibaba Cloud
    r"gl(?:pat|dt|rt|ptt|ft|soat|imt|cbt|oas|agent|ffct)-(?=[\w.-]{0,40}?[A-Z0-9])[\w.-]{20,}+",
    r"xapp-[0-9]-[A-Za-z0-9]{5,20}+-[0-9]{8,20}+-[A-Za-z0-9]{16,}+",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{30,}+",
    r"discord(?:app)?\.com/api/webhooks/[0-9]{15,20}+/[\w-]{40,}+",
    r"[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}+",  # Discord
    r"[0-9]{8,10}:AA[\w-]{32,}+",  # Telegram
    r"whsec_[A-Za-z0-9+/=]{24,}+",
    r"GOCSPX-[\w-]{20,}+",
    r"1//0[\w-]{30,}+",  # Google's refresh tokens
    r"xkeysib-[a-f0-9]{32}[\w-]{16,}+",
    r"key-[0-9a-f]{32}(?![A-Za-z0-9])",  # Mailgun
    r"[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])",  # Mailchimp
    r"SK[0-9a-f]{32}(?![A-Za-z0-9])",  # Twilio
    r"pypi-AgE[\w-]{40,}+",
    r"rubygems_[a-f0-9]{40,}+",
    r"pplx-[A-Za-z0-9]{32,}+",
    r"r8_[A-Za-z0-9]{30,}+",  # Replicate
    r"nvapi-[\w-]{40,}+",
    r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}+",
    r"HRKU-[\w-]{30,}+",
    r"dapi[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])",
    r"hv[sbr]\.[\w-]{24,}+",
    r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}+",
    r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}",
    r"glc_[A-Za-z0-9+/=]{32,}+",
    r"NRAK-[A-Z0-9]{27,}+",
    r"lin_api_[A-Za-z0-9]{32,}+",
    r"ntn_[A-Za-z0-9]{40,}+",
    r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])",  # Notion, until 2024
    r"figd_[\w-]{36,}+",
    r"PMAK-[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}",
    r"dp\.(?:pt|st|ct|scim|audit)\.[\w.-]{40,}+",
    r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}+",
    r"sbp_[a-f0-9]{40,}+",
    r"sntry[us]_[\w+/=]{40,}+",
    r"pul-[a-f0-9]{40}(?![A-Za-z0-9])",
    r"sq0(?:atp|csp|idp)-[\w-]{22,}+",
    r"EAA[A-Z][A-Za-z0-9]{90,}+",  # Facebook
    r"AT[AC]TT3[\w=-]{100,}+",  # Atlassian
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+",
)

IN_ADDRESS = (
    r"(?i:[?&](?:x-amz-(?:signature|security-token)|(?:access_|auth_|refresh_|id_|api_|x-)?token"
    r"|sig|signature|(?:client_)?secret|(?:api|access)[_-]?key|password|pwd)=)"
    r"(?=[^\s&\"'<>#\x00]{0,64}?[0-9])([^\s&\"'<>#\x00]{12,}+)",
    r"(?:AccountKey|SharedAccessKey|SharedSecretValue|(?:(?<=[;\s])(?i:pwd)))=([^\s;\"'\x00]{6,}+)",
    r"WIFI:(?:[A-Z]:[^;\n\x00]{0,64}+;){0,4}?P:([^;\n\x00]{4,64}+)",
)
"""Values in addresses, connection strings and WiFi codes; the groups match the secret."""

WALLET = (
    r"(?<![A-Za-z0-9])[xyztuv]prv[A-Za-z0-9]{90,}+",
    r"(?<![A-Za-z0-9])(?:5[1-9A-HJ-NP-Za-km-z]{50}|[KL][1-9A-HJ-NP-Za-km-z]{51})(?![A-Za-z0-9])",
    r"(?i:private[ _-]?key|秘密鍵|私[钥鑰]|개인 ?키)[^\n\x00]{0,24}?(?<![A-Za-z0-9])"
    r"((?:0x)?[0-9A-Fa-f]{64})(?![A-Za-z0-9])",
)
"""Private keys of wallets: extended keys, the import format, and 64 hexadecimal digits."""
