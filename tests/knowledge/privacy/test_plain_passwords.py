"""Passwords of plain letters, and what people say about passwords."""

import re

import pytest

from souffleur.knowledge.privacy.secrets import MASK, mask

SECRETS = (
    "the password is ⟦letmein⟧",
    "my wifi password is ⟦bluebird⟧",
    "パスワードは⟦himitsu⟧",
    "パスワードは⟦himitsu⟧です",
    "mot de passe : ⟦soleil⟧",
    "le mot de passe c'est ⟦soleil⟧, je crois",
    "contraseña es ⟦girasol⟧",
    "la contraseña del wifi es ⟦girasol⟧, todo junto",
    "密码是 ⟦xiangrikui⟧",
    "Das Passwort ist ⟦sonnenblume⟧.",
    "das wlan passwort lautet ⟦Gartenzwerg⟧",
    "la password del wifi è ⟦girasole⟧",
    "a senha do wifi é ⟦girassol⟧",
    "пароль - ⟦солнышко⟧",
    "пароль от вайфая это ⟦котик⟧",
    "het wachtwoord is ⟦zonnebloem⟧",
    "hasło to ⟦sloneczko⟧",
    "비밀번호는 ⟦해바라기⟧야",
    "비번은 ⟦haebaragi⟧",
    "पासवर्ड ⟦sooraj⟧ है",
    "كلمة السر هي ⟦yasmin⟧",
    "password for the netflix thing is ⟦popcorn⟧ btw",
    "I changed my password to ⟦sunshine⟧.",
    "we use ⟦buttercup⟧ as the wifi password",
    "password=⟦letmein⟧",
    "my old password was ⟦starlight⟧, don't tell anyone",
    "my pwd is ⟦letmein⟧ btw",
    "das Passwort fürs Tablet ist ⟦sonnenblume⟧",
)
LOOKALIKES = (
    "the password is wrong",
    "My password is letting me down",
    "the password is too weak.",
    "the password is shorter.",
    "the password is safer",
    "your password is important.",
    "Password is case sensitive",
    "the password is the same as before",
    "the password is required",
    "the password is up to you",
    "my password is my cat's name",
    "the password is expired, please reset it",
    "Das Passwort ist falsch.",
    "das passwort ist leider abgelaufen",
    "la contraseña es incorrecta",
    "la contraseña es muy larga",
    "le mot de passe est oublié",
    "le mot de passe est oublié depuis hier soir encore",
    "le mot de passe est incorrect, réessaie",
    "a senha é fraca",
    "la password è sbagliata",
    "пароль - неверный",
    "пароль это важно",
    "het wachtwoord is verlopen",
    "비밀번호는 여덟자리입니다",
    "비밀번호는 필수입니다",
    "パスワードはbitwardenで管理しています",
    "密码是 admin 吗",
    "密码是什么",
    "password = input",
    "I changed my password to something stronger.",
    "the password is nobody's business",
    "make sure the password is unique.",
    "the password is hunter... nah",
)


@pytest.mark.parametrize("text", SECRETS)
def test_a_plain_word_after_its_label_is_masked(text: str) -> None:
    """It alone: what follows stays."""
    assert mask(re.sub("[⟦⟧]", "", text)) == re.sub("⟦.*?⟧", MASK, text)


@pytest.mark.parametrize("text", LOOKALIKES)
def test_what_is_said_about_a_password_stays(text: str) -> None:
    """An adjective, a participle, or a sentence that goes on tells no password."""
    assert mask(text) == text
