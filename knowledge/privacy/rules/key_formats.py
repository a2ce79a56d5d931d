r"""Formats of keys and tokens that their providers mark by a prefix or a form of its own.

The formats are facts published by the providers, collected in the rules of gitleaks
(https://github.com/gitleaks/gitleaks, config/gitleaks.toml, MIT). These are parts of one pattern.
"""

TELEGRAM = r"[0-9]{8,10}:AA[\w-]{32,}+"
PREFIXED = (
    r"LTAI[A-Za-z0-9]{12,}+",  # Alibaba Cloud
    r"gl(?:pat|dt|rt|ptt|ft|soat|imt|cbt|oas|agent|ffct)-(?=[\w.-]{0,40}?[A-Z0-9])[\w.-]{20,}+",
    r"xapp-[0-9]-[A-Za-z0-9]{5,20}+-[0-9]{8,20}+-[A-Za-z0-9]{16,}+",
    r"(?:https://)?hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{30,}+",
    r"(?:https://)?(?:[a-z]{2,8}\.)?discord(?:app)?\.com/api/webhooks/[0-9]{15,20}+/[\w-]{40,}+",
    r"[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}+",  # Discord
    r"(?:https://)?hooks\.zapier\.com/hooks/catch/[0-9]{4,12}+/[\w/]{6,}+",
    TELEGRAM,
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
    r"EAAA[\w-]{56,}+",  # Square
    r"AT[AC]TT3[\w=-]{100,}+",  # Atlassian
    r"pat-(?:na|eu)[0-9]-[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}",  # HubSpot
    r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",  # Airtable
    r"[0-9]/[0-9]{16}(?:/[0-9]{16})?:[0-9a-f]{32}",  # Asana
    r"sl\.[\w-]{130,}+",  # Dropbox
    r"(?:fo1_|FlyV1 fm[12]_)[\w+/=-]{30,}+",  # Fly.io
    r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",  # Dynatrace
    r"[ps]k\.eyJ[\w-]{20,200}\.[\w-]{16,}+",  # Mapbox
    r"AKCp[A-Za-z0-9]{50,}+",  # JFrog
    r"oy2[a-z0-9]{43}(?![a-z0-9])",  # NuGet
    r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])",  # crates.io
    r"CLOJARS_[a-z0-9]{50,}+",
    r"FLWSECK(?:_TEST)?-[\w-]{20,}+",  # Flutterwave
    r"AKID[A-Za-z0-9]{28,}+",  # Tencent
    r"AQVN[\w-]{30,}+",  # Yandex
    r"vk1\.a\.[\w-]{40,}+",
    r"EZ[AT]K[A-Za-z0-9]{50,}+",  # EasyPost
    r"CCIPAT_[\w-]{30,}+",  # CircleCI
    r"CFPAT-[\w-]{40,}+",  # Contentful
    r"AC[0-9a-f]{32}[\"', :]{1,6}[0-9a-f]{32}",  # Twilio, with its token
    r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}",  # Plaid
    r"A{20}[A-Za-z0-9%]{60,}+",  # X (Twitter)
    r"oauth:[a-z0-9]{30}(?![a-z0-9])",  # Twitch
    r"[\w~.-]{3}[0-9]Q~[\w~.-]{31,34}",  # Azure
    r"(?:https://)?(?:[a-z0-9-]{1,40}\.webhook\.office\.com/webhookb2|outlook\.office\.com/webhook"
    r"|maker\.ifttt\.com/trigger|hook\.[a-z0-9.]{2,8}\.make\.com"
    r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook|chat\.googleapis\.com/v1/spaces)"
    r"/[\w./@?=&%-]{16,}+",
    r"(?:nfp_|vc[a-z]_|rnd_|napi_|npg_|tfp_|dckr_pat_|csk-|pcsk_|tvly-|fc-|jina_|pa-|fw_"
    r"|lsv2_(?:pt|sk)_|wandb_v1_|hca?ik_|hcxi?k_|sq[apu]_|bkua_|pnu_"
    r"|(?:rzp|shippo|duffel|lob)_(?:live|test)_|apify_api_|sgp_|snyk_|nrf_|dsn_|phc_|phx_|ops_"
    r"|tskey-[a-z]{2,10}-|ctx7sk-|eyJrIjoi|xkeysib-|glrt-|secret-token:|mlsn\.|MLSN\."
    r"|key_live_|tk_live_|(?<!pk_)live_|prod_|sess-|st-|pckey_)"
    r"(?=[A-Za-z0-9_-]{0,40}?[0-9])(?=[A-Za-z0-9_-]{0,40}?[A-Za-z])[A-Za-z0-9_-]{20,}+",
    r"re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{16,}+",  # Resend; without the second part, a refund
    r"c[ks]_[0-9a-f]{40}(?![A-Za-z0-9])",  # WooCommerce
    r"RGAPI-[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}",  # Riot
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+",
    r"A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}(?![A-Za-z0-9])",  # 1Password
    r"v1\.0-[a-f0-9]{24}-[a-f0-9]{140,}+",  # Cloudflare
    r"dnkey-[A-Z0-9=_-]{26}-[A-Z0-9=_-]{52}|dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}",
    r"api_org_[A-Za-z]{34}(?![A-Za-z])",  # Hugging Face
    r"sm_[aps]at_[A-Za-z0-9]{16}(?![A-Za-z0-9])",
    r"(?:sdk|api|mob)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",  # LaunchDarkly
    r"SCW[A-Z0-9]{17}(?![A-Z0-9])",
    r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9-])",  # Mailgun
    r"[0-9a-f]{32}:[0-9a-f]{32}(?![A-Za-z0-9])",  # Mailjet
    r"u\+[A-Za-z0-9_-]{18}(?![A-Za-z0-9_-])",  # PagerDuty
    r"https://[0-9a-f]{32}@[\w.-]{4,60}+/[0-9]{1,20}+",  # Sentry
    r"nsec1[02-9ac-hj-np-z]{58}(?![A-Za-z0-9])",  # Nostr
    r"S(?=[A-Z2-7]{0,20}?[2-7])[A-D][A-Z2-7]{54}(?![A-Za-z0-9])",  # Stellar
    r"GR1348941[\w-]{20,}+",  # GitLab
)

IN_ADDRESS = (
    r"(?i:[?&](?:x-amz-(?:signature|security-token)|(?:access_|auth_|refresh_|id_|api_|x-)?token"
    r"|sig|signature|(?:client_)?secret|(?:(?:api|access)[_-]?)?key|password|pwd|code|auth)=)"
    r"(?=[^\s&\"'<>#\x00]{0,64}?[0-9])((?>[^\s&\"'<>#\x00.,;)]|[.,;)](?=[A-Za-z0-9])){12,512}+)",
    r"(?:AccountKey|SharedAccessKey|SharedSecretValue|(?:(?<=[;\s])(?i:pwd)))=(?![<{[$])([^\s;\"'\x00]{6,}+)",
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
