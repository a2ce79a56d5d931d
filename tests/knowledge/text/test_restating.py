"""What denies what was said."""

import pytest

from souffleur.knowledge.text.restating import says_opposite

CALLED = ("Ann", "Mo", "主人", "小祥", "ユーザー")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I don't like tea", "Ann likes tea."),
        ("I like tea", "Ann doesn't like tea."),
        ("I like tea very much", "Ann does not like tea."),
        ("I drink coffee in the morning", "Ann doesn't drink coffee"),
        ("I can't swim", "Ann can swim"),
        ("I have no car", "Ann has a car"),
        ("I've never been to Rome", "Ann has been to Rome"),
        ("我不吃肉", "主人吃肉"),
        ("我喜欢茶", "主人不喜欢茶"),
        ("我没有狗", "主人养了一只狗"),
        ("コーヒーは飲まない", "ユーザーはコーヒーを飲む。"),
        ("コーヒーが好き", "ユーザーはコーヒーが好きではない。"),
        ("I'm not allergic to nuts", "Ann is allergic to nuts"),
        ("I am a vegetarian", "Ann is not a vegetarian"),
        ("I want kids", "Ann doesn't want kids"),
        ("I don't want kids", "Ann wants kids."),
        ("我不想要孩子", "主人想要孩子"),
        ("我对花生过敏", "主人对花生不过敏"),
        ("我对花生不过敏", "主人对花生过敏"),
        ("I don't really like tea", "Ann likes tea"),
    ],
)
def test_a_negation_that_is_added_or_lost_turns_the_words(old: str, new: str) -> None:
    """Where one text has no negation, and the other denies the words that they share."""
    assert says_opposite(new, old, CALLED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I have no car", "Ann lacks a car and cycles"),
        ("it is the 19th of May, not the 9th", "It is on the 19th of May (the 9th was mistyped)."),
        ("it is on the 19th of May not the 9th", "It is on the 19th of May (9th was mistyped)."),
        ("我生日是3月16日不是3月6日", "主人的生日是3月16日（之前说的3月6日是打错了）。"),
        ("14日じゃなくて21日からだった", "21日から（14日は見間違い）。"),
        ("No, I work at Google", "Ann works at Google."),
        ("I don't work at Google anymore", "Ann worked at Google until May 2026."),
        ("I don't smoke", "Ann stopped smoking"),
        ("I don't like coffee, I like tea", "Ann likes tea and not coffee"),
        ("我不过是累了", "主人累了"),
        ("没错，我住在里昂", "主人住在里昂"),
        ("It's not that I hate Lyon, I love it", "Ann loves Lyon"),
        ("I can't wait to move to Lyon", "Ann looks forward to moving to Lyon"),
        ("I don't eat meat", "Ann is vegetarian and doesn't eat meat."),
        ("别叫我雪雪", "主人不让小祥叫主人雪雪"),
        ("I never said I moved to Lyon", "Ann never said that she moved to Lyon"),
        ("I couldn't be happier with my job", "Ann is happy with her job"),
        ("why don't we move to Lyon, I said yes", "Ann moves to Lyon"),
        ("I don't drink anymore", "Ann no longer drinks"),
        ("I'm not a morning person", "Ann is no morning person"),
        ("don't call me Annie", "Ann does not want to be called Annie"),
        ("please don't mention my ex", "Ann wants Mo never to mention her ex"),
        ("I haven't been to Rome yet", "Ann has not been to Rome as of May 2026"),
        ("I didn't get the job", "Ann was turned down for the job"),
        ("not bad at chess", "Ann is good at chess"),
        ("I do not miss Paris at all", "Ann is glad to have left Paris"),
        ("コーヒーをやめた", "ユーザーはコーヒーを飲まない"),
    ],
)
def test_not_every_negation_denies(old: str, new: str) -> None:
    """Idioms, contrasts, ends and other words for the same say nothing else."""
    assert not says_opposite(new, old, CALLED)
