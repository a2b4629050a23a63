"""How likely somebody wrote a decoded text: by how common its characters are in East Asia and western Europe."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_SAMPLE_CHARS = 4000

# The characters that texts of each script use most; together they make up well over half of ordinary prose.
_COMMON_HAN = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方"
    "多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情"
    "明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给"
    "世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太"
    "量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象"
    "完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运笔支流片单华越找足节亲客请料容"
    "备写字号户书章项目组织责务编查检登记馆读者借阅图服员还续逾期知库企业系统数据文件档案存储用例测试简体繁汉码编短句样本输入"
    "出错误返默认配置选择按钮点击打开保护密钥网络服务器版本更新说明帮助中午晚早春夏秋冬红黄蓝绿黑白百千万亿元角分价格购买售"
    # Traditional forms
    "這個們來為國說時會對過發後裡裏種經麼現當沒動還進樣從實軍無與長機戰業關點將兩間問應頭體見產話給門員論處義幾認條係氣題爾"
    "變總電數報結務場計資統區隊決馬書聽達強難權設記類據張該萬領確傳師觀識帶導爭運單華親請號編檔儲測試簡漢碼輸錯誤認選擇鈕點"
    "擊開護鑰網絡務說幫紅黃藍綠億價購買賣學習歡迎臺灣語資訊軟體檔案處理專東車風飛龍陽銀錢鐵讀寫圖館規則雲"
    # Japanese forms and names
    "気円駅図読売帰発続広県区変対応実験検査込働様沢渡辺藤斉髙高橋田中村木山川島崎佐伊鈴井野石林池谷坂浜橋住所年齢名前氏性別"
    "職業東京大阪府都道古屋横浜神戸福岡札幌仙台太郎次子美恵由花男女猫犬上手食飲語勉強仕事会社電車時間今日明日昨日毎朝夜映画音楽"
)
_COMMON_HANGUL = frozenset(
    "이다는을를에의가은로고하지도기사서자한인니그어리나시아라대해들으제있정부스일수전게보만상과주장여습교오국관구년성와면원유"
    "문장안연경모것말무방세비조소마적않내신동학공명화선위우드미람러까요안녕할때되없었했같중거될저체계실회위품생음분용입개된"
    "치행바터트재점당진산간단못타크영발반날물르술운야건물써요글한국어테스트찾며민립두직출현천표데네준속결업각통질합"
)
_KANA_FROM, _KANA_TO = 0x3041, 0x30FF
_HALF_KANA_FROM, _HALF_KANA_TO = 0xFF61, 0xFF9F
_HANGUL_FROM, _HANGUL_TO = 0xAC00, 0xD7A3
_CJK_MARKS = frozenset("，。、！？：；（）《》〈〉「」『』【】“”‘’…—　·～％")
_WESTERN_MARKS = frozenset("“”‘’„‚–—…€£§°«»¿¡©®™·•½¼²³ª\u00a0")
_LATIN_FROM, _LATIN_TO = 0xC0, 0x17F


def plausibility(text: str, *, only_beyond_ascii: bool = False) -> float:
    """Mean plausibility of the characters, up to 1; below 0 where characters are private, unassigned or controls.

    Args:
        text: Decoded text; a sample of its beginning is rated.
        only_beyond_ascii: Rate only the characters on which ASCII-compatible encodings differ.
    """
    weights = list(_weights(text, only_beyond_ascii=only_beyond_ascii))
    return sum(weights) / len(weights) if weights else 0.0


def _weights(text: str, *, only_beyond_ascii: bool) -> Iterable[float]:
    rated = 0
    for index, char in enumerate(text):
        if char.isascii():
            if only_beyond_ascii:
                continue
            yield 1.0
        elif _LATIN_FROM <= ord(char) <= _LATIN_TO:
            yield _weight_of_latin(text, index)
        else:
            yield _weight_of(char)
        rated += 1
        if rated >= _SAMPLE_CHARS:
            return


def _weight_of_latin(text: str, index: int) -> float:
    """Accented letters stand among plain ones; long runs of them are another encoding read wrongly."""
    around = text[max(0, index - 2) : index] + text[index + 1 : index + 3]
    plain = sum(1 for char in around if char.isascii() and (char.isalpha() or char.isspace())) + 4 - len(around)
    # A capital inside a word is a sign of bytes, not of letters.
    inside_word = index > 0 and text[index - 1].islower() and text[index].isupper()
    return 0.0 if inside_word else 0.2 * plain


@lru_cache(maxsize=16384)
def _weight_of(char: str) -> float:
    code = ord(char)
    if _KANA_FROM <= code <= _KANA_TO or char in _CJK_MARKS:
        weight = 0.9
    elif char in _COMMON_HAN or char in _COMMON_HANGUL:
        weight = 1.0
    elif char in _WESTERN_MARKS:
        weight = 0.5
    elif _HALF_KANA_FROM <= code <= _HALF_KANA_TO:
        weight = 0.05
    elif unicodedata.category(char) in ("Co", "Cn", "Cc"):
        weight = -1.0
    elif _HANGUL_FROM <= code <= _HANGUL_TO:
        weight = 0.15
    elif 0x4E00 <= code <= 0x9FFF:  # noqa: PLR2004 (the CJK unified ideographs)
        weight = 0.2
    else:
        weight = 0.1
    return weight
