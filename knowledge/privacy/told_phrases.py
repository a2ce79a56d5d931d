# ruff: noqa: E501  a list of words is one line
"""Passphrases of several words, and answers to security questions, as people tell them."""

_LETTER = r"A-Za-z\u00c0-\u024f\u0300-\u036f\u0400-\u04ff"
_L, _R = rf"(?<![{_LETTER}])", rf"(?![{_LETTER}])"
_PLAIN_WORD = (
    rf"(?>(?:the|an?|that|this|which|who|too|so|very|not|no|my|your|his|her|our|their|it|its|i"
    rf"|we|you|he|she|they|(?:some|any|no)(?:thing|body|one)?"
    r"|nobody|long|short|easy|hard|safe|weak|strong|secure|still|just|only|really|always|never"
    r"|to|of|and|but|or|because|if|when|then"
    r"|now|is|was|are|be|been|for|with|from|at|by|as|have|has|had|do|does|did|can|could|would"
    r"|should|will|more|than|lol|que|muy"
    r"|demasiado|no|zu|sehr|nicht|und|eine?|trop|très|pas|et|un|une|muito|não|uma?|troppo|non"
    r"|слишком|не|очень)"
    rf"{_R})"
)
_WORD = rf"(?!{_PLAIN_WORD})[{_LETTER}'-]{{2,14}}+"
_PHRASE = rf"({_WORD}(?:\s{_WORD}){{3,8}}+)"
_PASSPHRASE = (
    rf"{_L}(?>pass\s?phrases?|(?:master|secret|vault|pass)\s(?:phrase|password)"
    rf"|frase\s(?:secreta|maestra|mestra|de\spaso|senha|segreta"
    r"|(?:do|del?|da)\s(?:meu\s|mi\s|la\s)?(?:cofre|b[oó]veda|gestor|contraseña"
    r"|contrasenas)(?:\sde\s(?:senhas|contraseñas|claves))?)"
    r"|phrase\s(?:secrète|de\spasse)|passphrase|passsatz|master-?passwort|(?:кодов|парольн"
    r"|секретн)[а-я]{2,3}+\sфраз[а-я]"
    r"|mots?\sde\spasse(?:\smaître)?|contrase(?:ñ|n)a\smaestra|senha\smestra|мастер-?пароль)"
)
_IS = rf"(?>{_L}(?>is|was|became|it's|to|ficou|wurde|é|es|ist|lautet|est|è|это|c'est)(?=\s)|[:=])"

PASSPHRASES = (rf"(?i:{_PASSPHRASE}[^\n.:;\x00]{{0,40}}?{_IS}[\s\"']{{1,3}}+{_PHRASE})",)
"""Words after the label of a passphrase; talk about one begins with words like "too" and "not"."""

_QUESTION = (
    rf"{_L}(?>security\s(?:questions?|answers?)|secret\s(?:question|answer)|sicherheitsfrage"
    rf"|geheimfrage|preguntas?\s(?:secreta|de\sseguridad)"
    r"|questions?\s(?:secrète|de\ssécurité)|pergunta\s(?:secreta|de\ssegurança)"
    r"|domanda\s(?:segreta|di\ssicurezza)"
    r"|(?:секретн|контрольн)[а-я]{2,3}+\sвопрос[а-я]{0,2}|(?:bank|banca|banco|banque|банк"
    r"|account)\s[^\n.\x00]{0,12}?(?:ask(?:s|ed)?|chiede|chiesto|preguntó|pregunta|fragt|demande"
    r"|demandé|pede|pediu|pide)"
    r"|(?:mother'?s\s)?maiden\sname|first\s(?:pet|teacher|school|car)|erste[ns]?\s(?:haustier"
    r"|lehrer[a-z]{0,3}|auto)|primera\smascota|premier\sanimal|primo\sanimale"
    r"|cognome\sda\snubile|mädchenname|nom\sde\sjeune\sfille|apellido\sde\ssoltera"
    r"|nome\sde\ssolteira|девичь[а-я]{1,3}\sфамили[а-я])"
    r"|秘密の質問|秘密の答え|密保|安全问题|安全問題|보안 ?질문|비밀번호 ?(?:찾기)? ?(?:질문|힌트)"
)
_ANSWER = (
    rf"(?>{_L}(?>answer(?:'s|\sis|\swas)?|i\s(?:always\s)?(?:put|wrote|typed|answered|entered"
    rf"|tell\s(?:them|him|her)|told\s(?:them|him|her)|say|said)(?:\sdown)?|(?:ho|avevo"
    rf"|abbiamo)\s(?:messo|scritto|risposto)"
    r"|risposta\s(?:è|era)?|respuesta(?:\ses|\sera)?|puse|contesté|escribí|antwort(?:\sist"
    r"|\slautet|\swar)?|hab(?:e)?(?:\sich)?|sage?\sich"
    r"|réponse(?:\sest|,?\sc'est)?|j'ai\s(?:mis|répondu|écrit)|resposta(?:\sé|\sera)?|coloquei"
    r"|botei|respondi|ответ[а-я]{0,8}+|написал[аи]?|указал[аи]?)"
    r"|答案是?|填的?是?|写的?是?|答えは|答えを|答えが|정답은|답은|답이)(?:(?:\s[a-z]{2,8}+){0,2}?\s(?>is"
    r"|was))?[\s:=\"'“「-]{0,4}+"
)
_ANSWERED = (
    r"(?:(?<=[\"'“「])([^\n\"'”」\x00]{2,40}+)"
    rf"|((?!{_PLAIN_WORD})[A-Z\u00c0-\u00de\u0410-\u042f][{_LETTER}'-]{{1,20}}+(?:\s(?:(?>der"
    rf"|die|von|de|du|of|the)\s)?+[A-Z\u00c0-\u00de\u0410-\u042f][{_LETTER}'-]{{1,20}}+){{0,3}}+)"
    r"|([\u3040-\u9fff\uac00-\ud7a3]{2,10}+))"
)
_SECRET_ANSWER = (
    rf"{_L}(?>(?:secret|security)\sanswer|answer\sto\s(?:my|the|her|his)\s(?:secret"
    rf"|security)\squestion|geheime\santwort|réponse\ssecrète|respuesta\s(?:secreta"
    rf"|de\sseguridad)"
    r"|resposta\s(?:secreta|de\ssegurança)|risposta\s(?:segreta|di\ssicurezza)"
    r"|секретн[а-я]{2}\sответ)"
)
ANSWERS = (
    r"(?:질문|힌트)[^\n\x00]{0,40}?\s((?:(?!이?라고)[\uac00-\ud7a3]){2,10}+)이?라고\s?(?:적|썼|써|답|해|했|입력)",
    rf"(?i:(?>{_QUESTION})[^\n\x00]{{0,32}}?{_ANSWER}){_ANSWERED}",
    rf"(?i:{_SECRET_ANSWER}\s?(?>:|is|was|ist|lautet|est|es|é|è|это)\s{{1,2}}[\"'“]?){_ANSWERED}",
)
"""A name after a security question, or words in quotation marks."""

_OPENS = (
    rf"{_L}(?>unlock[a-z]{{0,3}}+|(?:open|unlock|start|into)\s(?:the|my|his|her"
    rf"|our)\s(?:[a-z]{{2,8}}+\s)?(?:laptop|computer|mail(?:box)?|phone|tablet)(?![a-z])"
    rf"|hasł[aoeu]|wachtwoord|şifre|decrypt[a-z]{{0,3}}+|encrypted|log(?:ging)?\s(?:in|on)"
    rf"|master|vault|keepass|bitwarden|1password|password\smanager|entsperr[a-z]{{0,3}}"
    r"|geht\s(?:nur\s)?auf|verschlüsselt|backup-platte|passwortmanager|tresor"
    r"|desbloque[a-z]{1,3}|gestor\sde\s(?:claves|contraseñas)|bóveda|cofre\sde\ssenhas"
    r"|déverrouill[a-zé]{1,3}|coffre-fort|gestionnaire|sbloccare|gestore\sdi\spassword"
    r"|разблокир[а-я]{1,5}|зашифрован[а-я]{0,3}|расшифров[а-я]{1,4})"
)
_BY_WORDS = (
    rf"{_L}(?>(?:type|typing|enter|say|use)\s(?:in\s)?|(?:the\s)?(?:whole\s)?(?:phrase|words"
    rf"|sentence)[,:]?\s(?:is\s|was\s)?|zdanie:?\s|de\szin:?\s|cümle(?:si)?:?\s|(?:mit\s)?(?:dem"
    rf"|der)\s(?:satz|spruch|phrase)\s|(?:tippe|eingeben:|eintippen:)\s"
    r"|(?:escribir|poner|teclear|digitar|escrever|digitare|scrivere|taper|écrire)\s|(?:la"
    r"|a)\sfra[sz]e\s(?:es\s|é\s|è\s)?|la\sphrase\s(?:est\s)?|фраз[ауы]\s|ввести\s"
    r"|набрать\s)[\"']?"
)
_FIRST_WORD = rf"(?!{_PLAIN_WORD}|(?:passwords?|codes?|pins?|things?|numbers?|letters?|words?|contraseñas?|mots?)\b)[{_LETTER}'-]{{2,14}}+"
_NEXT_WORD = (
    rf"(?!(?:and|then|but|so|because|with|every|each|if|when|und|dann|aber|y|pero|cada|entero|et"
    rf"|puis|mais|chaque|e|ma|mas|poi|ogni|и|но|каждый|lol|which|that)"
    rf"{_R})[{_LETTER}'-]{{1,14}}+"
)
OPENING_WORDS = (
    rf"(?i:{_OPENS}[^\n.;\x00]{{0,50}}?{_BY_WORDS}({_FIRST_WORD}\s{_FIRST_WORD}(?:\s{_NEXT_WORD}){{2,6}}+))",
)
"""Words that open something, after what says that they are typed."""

QUOTED_WORDS = (
    rf"(?i:{_OPENS}[^\n.;\x00]{{0,40}}?(?<![a-z])(?>with|using|mit|con|avec|com|is|ist|es|è|é"
    rf"|est|с)\s)"
    rf"[\"']((?i:{_FIRST_WORD}(?:\s{_NEXT_WORD}){{3,9}}+))[\"']",
)
"""Words in quotation marks that open something."""
