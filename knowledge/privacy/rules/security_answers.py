"""Answers to security questions, as people tell them."""

from souffleur.knowledge.privacy.rule import Rule
from souffleur.knowledge.privacy.rules.passphrases import COMMON_WORD
from souffleur.knowledge.privacy.vocabulary import LETTERS, alternatives, in_text, own_in_text

_KIND = "an answer to a security question"
_L = rf"(?<![{LETTERS}])"
_CAPITAL = r"[A-Z\u00c0-\u00de\u0410-\u042f]"
_NAME = rf"{_CAPITAL}[{LETTERS}'-]{{1,20}}+"
_QUESTION = (
    rf"{_L}(?>{in_text('security_question')}"
    rf"|(?:{in_text('bank')})\s[^\n.\x00]{{0,12}}?(?:{in_text('asks')}))"
    rf"|{alternatives('security_question_spelt')}"
)
_ANSWERED = (
    rf"(?>{_L}(?>{in_text('answered')})|{alternatives('answered_spelt')})"
    r"(?:(?:\s[a-z]{2,8}+){0,2}?\s(?>is|was))?[\s:=\"'“「-]{0,4}+"
)
_ANSWER = (
    r"(?:(?<=[\"'“「])([^\n\"'”」\x00]{2,40}+)"
    rf"|((?:(?!{COMMON_WORD})[a-z\u00e0-\u00ff\u0430-\u0451]{{2,10}}+\s(?:(?>des|de|du|della|del|dos|da)\s)?+)?+(?!{COMMON_WORD}){_NAME}\.?(?:\s(?:(?>der|die|von|de|du|of|the)\s)?+{_NAME}){{0,3}}+)"
    r"|([\u3040-\u9fff\uac00-\ud7a3]{2,10}+))"
)
"""A name, words in quotation marks, or a few signs of another script."""

ANSWERS = (
    Rule(
        _KIND,
        "비밀번호 찾기 질문에 ⟦뽀삐⟧라고 적었어",
        r"(?:질문|힌트)[^\n\x00]{0,40}?\s((?:(?!이?라고)[\uac00-\ud7a3]){2,10}+)이?라고\s?"
        r"(?:적|썼|써|답|해|했|입력)",
    ),
    Rule(
        _KIND,
        "Die Hotline fragt nach dem ersten Haustier, da sag ich ⟦Schnurrbert⟧ und gut",
        rf"(?i:(?>{_QUESTION})[^\n\x00]{{0,70}}?{_ANSWERED}){_ANSWER}",
    ),
    Rule(
        _KIND,
        "my mother's maiden name for the bank is ⟦Kowalczyk⟧",
        rf"(?i:(?>{_L}(?:{in_text('security_question')})[^\n.\x00]{{0,24}}?(?:{in_text('bank')})"
        rf"|{_L}(?:{in_text('asked_for_security')}))[^\n.\x00]{{0,40}}?"
        rf"(?:[):]|(?>\s(?:{in_text('answer_is')})(?=\s)))\s[\"']?){_ANSWER}",
    ),
    Rule(
        _KIND,
        "when they ask for your first pet, say ⟦Waldemar⟧",
        rf"(?i:{_L}(?>{in_text('asks')})\s(?>[^\n.\x00]{{0,16}}?{_L}(?>{in_text('security_question')}))"
        rf"(?>[^\n.\x00]{{0,8}}?{_L}(?>{in_text('reply_with')}))\s[\"'“]?){_ANSWER}",
    ),
    Rule(
        _KIND,
        "Security question 2: mother's maiden name?\nAnswer: ⟦Kowalczyk⟧",
        rf"(?i:(?>{_L}(?:{in_text('asked_for_security')}))[^\n\x00]{{0,80}}?\n"
        rf"{_L}(?>{in_text('answer')})\s?:\s[\"']?){_ANSWER}",
    ),
    Rule(
        _KIND,
        "mother's maiden name: ⟦Kowalczyk⟧",
        rf"(?i:{_L}(?>{in_text('maiden_name')})\s?+:\s{{0,2}}[\"'“]?){_ANSWER}",
    ),
    Rule(
        _KIND,
        "I set my mother's maiden name as ⟦Kowalczyk⟧",
        rf"(?i:{_L}(?>{in_text('set_answer')})\s(?>{in_text('maiden_name')})\s(?>{in_text('set_to')})\s"
        rf"[\"'“]?){_ANSWER}",
    ),
    Rule(
        _KIND,
        "мой секретный вопрос про бабушку, ответ: ⟦пирог с ревенём⟧",
        rf"(?i:{_L}(?>{in_text('asked_for_security')})[^\n.\x00]{{0,60}}?{_L}(?>{in_text('answer')})"
        rf"\s?:\s[\"'“]?((?!{COMMON_WORD})[{LETTERS}]{{2,20}}+(?:\s[{LETTERS}]{{1,20}}+){{0,3}}+)"
        r"(?=[\"'”]?\s{0,2}(?:[,.;!)\n]|\Z)))",
    ),
    Rule(
        _KIND,
        "my secret answer is ⟦thunderbolt⟧",
        rf"(?i:{_L}(?>{in_text('secret_answer')})\s?(?>:|(?>{in_text('answer_is')})(?=\s))"
        rf"\s{{1,2}}[\"']?(?!{own_in_text('said_of_password')}|{COMMON_WORD})([{LETTERS}]{{4,24}}+"
        rf"(?:\s(?!{COMMON_WORD})[{LETTERS}]{{3,24}}+)?)"
        r"(?=[\"']?\s{0,2}(?:[,.;!)\n]|\Z)))",
    ),
    Rule(
        _KIND,
        "my secret answer is ⟦Mochi⟧",
        rf"(?i:{_L}(?>{in_text('secret_answer')})\s?(?>:|(?>{in_text('answer_is')})(?=\s))"
        rf"\s{{1,2}}[\"'“]?){_ANSWER}",
    ),
)
"""A name after a security question, or words in quotation marks."""
