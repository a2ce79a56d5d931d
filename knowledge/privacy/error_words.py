"""Words by which programs say what is wrong: they tell nothing of a talk that has them as well."""

_GRAMMAR = """
a an the this that these those it its is are was were be been being has have had do does did not no
none nor dont doesnt isnt arent wasnt cant couldnt or and but if as at by for from in into of on
only out over per than then to too up via with without yet you your we our can cannot could may must
should will would please try again use used using set see check make sure more most less least any
all both each other another same first last one two after before during while when where which what
why how
"""
_ERRORS = """
accept accepted access allow allowed alternate api argument arguments array assistant auth
authenticate authentication authorised authorization authorized available backend bad batch bearer
big billing blocked body boolean broken busy byte bytes cache call certificate character characters
chat choice client code completion completions connect connection content context credentials cut
denied deployment deprecated developer device dimension dimensions disabled dns embedding embeddings
empty enable enabled endpoint enter error errors exceed exceeded exceeds exist exists expected
expired fail failed failure feature field fields filter filtered forbidden format found function
gateway given got grammar guided handle header headers high host http https id incorrect input
inputs install instead instruction instructions insufficient integer internal invalid issue json key
keys large length limit limits list load loaded loading long malformed many max maximum memory
mentioned message messages method min minimum missing mode model models moved must name network null
number object occurred order organization output overloaded parameter parameters parse permission
permitted policy prefix prompt property protocol provide provided provider queue quota raise rate
reached read reading reasoning reduce refused reject rejected removed request requested requests
required reset resource response retry return returned role roles route schema second seconds server
service size specified ssl status stop stream strict string structured support supported supports
system temperature text thinking time timed timeout token tokens tool tools type unable unauthorized
unavailable unexpected unknown unprocessable unrecognized unsupported url user valid value values
version violates window wrong
"""
_UNSPACED = """
模型 参数 參數 请求 請求 错误 錯誤 无效 無效 不存在 不支持 失败 失敗 超时 超時 超过 超過 限制 额度
額度 余额 餘額 不足 密钥 密鑰 权限 權限 服务 服務 接口 内容 內容 敏感 违规 違規 安全 审核 審核
长度 長度 モデル パラメータ リクエスト エラー 無効 失敗 制限 認証 権限 サーバー コンテンツ
ポリシー 違反 入力 出力
"""

KNOWN_UNSPACED = frozenset(_UNSPACED.split())
KNOWN = frozenset((*_GRAMMAR.split(), *_ERRORS.split())) | KNOWN_UNSPACED
"""In lower case."""
