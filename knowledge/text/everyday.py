"""Everyday words: those that two texts may share without telling the same. And words for people."""

from souffleur.knowledge.search.words import stem

_ENGLISH = """
able across actually after afternoon again ago ah all almost alone along already alright also
although always among another answer anymore anyone anything anyway april around ask august away
back bad bag because become before begin behind believe beside best better between beyond big bit
book both bring buy call came care carry change close come cook could course cut day days deal
december despite different door double down drink drive drove during each early eat eight either
else email end enough etc even evening ever every everyone everything exactly except fact far
february feel few fewer find fine first five four friday front full fun funny gave get give go
goes gone good great guess guy haha half hand happen happy hard hate hear heard hello help here
hey hi hold home honestly hope hour house idea important instead interest itself january july june
keep kept kind knew know large last late lately later least leave left less let life like listen
little live long look lot love low made make many march maybe mean meet mention message mind
minute moment monday month more morning most move much must name near need neither never new news
next nice night nine nobody nor nothing november now number october off often oh ok okay old once
one only onto open other out over own page part people per perhaps person phone photo picture
place plan play please point pretty probably put question quite rather read ready real really
remember right room run sad said same sat saturday saw say see seem seen self send september set
seven several shall show since sit six sleep slept small someone something sometimes soon sorry
sort sound spend stand start stay still stop story street study stuff sunday sure table take talk
tell ten text thank thanks thing think though thought three through thursday till time today
together told tomorrow tonight took top touch toward towards tried true try tuesday turn twice two
under understand unless until up upon use used user usual usually visit wait walk want watch water
way wednesday week weekend well went whatever whether while whole wish within without wonder word
work world worry write wrong yeah year yep yes yesterday yet young yours
"""
_UNSPACED = """
主人 用户 用戶 喜欢 喜歡 觉得 覺得 知道 时间 工作 生活 朋友 家里 回家 最近 以前 以后 现在 今天
昨天 明天 晚上 早上 上午 下午 周末 已经 因为 所以 但是 还是 如果 虽然 可以 可能 需要 希望 告诉
记得 忘记 开始 结束 一直 一起 自己 真的 特别 非常 比较 有点 每天 每周 没有 什么 怎么 这样 那样
这个 那个 东西 事情 问题 感觉 高兴 难过 开心 不错 谢谢 其实 然后 之前 之后 住在 在家 我的 我家
我有 他的 她的 我们 他们 她们 我跟 我和 的人 っと った まし した ます ませ せん いる いた ある
あっ れる られ たい たく けど なん だっ これ それ あれ この その あの ここ そこ こと もの とき
ころ から まで ので って でも です なの ちゃ じゃ みた みる よう いい いう いつ もう まだ また
すご ごい ほん 本当 今日 昨日 明日 最近 時間 毎日 毎週 自分 仕事 好き 嫌い 行っ 行く 来た 来る
言っ 思っ 思う 思い 食べ べる べた 見た 見る ユー ーザ
"""
_KIN = """
mom mum mommy mummy mama mother dad daddy papa father parent grandma grandpa grandmother
grandfather gran granny nan aunt auntie uncle brother sister sibling cousin nephew niece son
daughter kid child husband wife partner girlfriend boyfriend fiance fiancee friend mate boss
colleague coworker neighbour neighbor roommate flatmate teacher classmate
"""
_KIN_CHARACTERS = """
妈 媽 爸 哥 姐 弟 妹 奶奶 爷爷 爺爺 外婆 外公 姥姥 姥爷 叔叔 阿姨 舅舅 儿子 女儿 孩子 老公 老婆
丈夫 妻子 男朋友 女朋友 同事 老板 邻居 室友 同学 老师 母 父 兄 姉 祖母 祖父 息子 娘 夫 妻 彼氏
彼女 友達 友人 同僚 上司 隣
"""
KIN_UNSPACED = tuple(_KIN_CHARACTERS.split())
"""Words for a person near somebody, in scripts without spaces."""

COMMON_HAN = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之"
    "年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样"
    "理心她本前开但因只从想实日者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两"
    "高间由问很最重并物手应向头文体美相见被利什二等产或新己制身果加西月话合回特代内信表化老给"
    "世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活更别打女变"
    "四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直资命山金指许统区保至形社便空"
    "决治展马科五基眼书非则听白却光放强即像难且思完设式色路记南品住告类求程北边死张该交规万取"
    "格望觉术领共确传师观清今切院让识候带运花吃饭钱爱朋友岁车店房买卖喝菜睡醒玩找坐站穿洗早晚"
    "周星块元号楼快慢忙累病午每帮搬城近远叫想被把春夏秋冬左右红黄蓝绿黑男父母哥弟姐妹医帶國學時間說開"
    "關點長東車話實氣會來對這個們過還進無從與見問聞食飲買売読書駅町村川田語達仕員週曜毎誰々私"
    "僕俺君彼"
)
"""Characters that stand in many words, in Chinese or Japanese: one of them alone tells nothing."""

KEY_LENGTH = 6
"""Letters by which a word is compared: allergy is allergic, psoriasis psoriatic."""


def key_of(word: str) -> str:
    """Return the beginning of a word's stem, which its forms have in common.

    >>> key_of("allergic") == key_of("allergies"), key_of("茶")
    (True, '茶')
    """
    return stem(word)[:KEY_LENGTH]


EVERYDAY = frozenset(map(key_of, _ENGLISH.split())) | frozenset(_UNSPACED.split())
"""Words, and pairs of characters, that everybody says of everything."""
KIN = frozenset(map(key_of, _KIN.split()))
"""Words for a person near somebody."""
