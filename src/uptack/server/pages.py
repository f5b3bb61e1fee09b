"""The web pages of a server, for analysts and for the curator. They are made on the server and need no script.

A page is a reader of the service, as the API is. Whatever changes something is a POST form with the token of the
visitor's forms (`Access.check_form`), and is answered by a redirect. A form that releases carries a key of its own, so
that it is charged once, however often it is sent.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import secrets
import time
from collections.abc import Callable, Coroutine
from fractions import Fraction
from importlib import resources
from typing import Any
from urllib.parse import urlencode

import jinja2
from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, RedirectResponse, Response

import uptack
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import read as read_number
from uptack.labels import json_text, label, lines
from uptack.privacy import Privacy
from uptack.privacy.guarantee import promise, short
from uptack.registry.declaration import OTHER, SECTIONS
from uptack.release import NoReply
from uptack.report.text import sentence
from uptack.server.access import COOKIE, FORM_TOKEN, Access, Visit, read_form
from uptack.server.answer_views import MOST_LINES, as_csv, error_picture, in_python, view
from uptack.server.api import Asking, FreeWork, Reading, as_error, issue_token
from uptack.server.forms import START, SYNTHETIC, FormQuestion, Typed, in_words, questions
from uptack.server.release_store import Record
from uptack.server.service import REPORT, Caller, Refused, Service, half_width
from uptack.wire.stored_report import StoredReport

Form = tuple[Visit, dict[str, list[str]]]

STATIC = {"uptack.css": "text/css", "uptack.js": "text/javascript"}
CURVE = (0.1, 0.35, 0.05, 0.2, 0.6)
"""Where the error curve is computed besides its largest ε, as shares of it: the most telling come first."""
CURVE_SECONDS = 2.0
"""After so many seconds no further point of a curve is computed. Rows are made up, so the time reveals nothing."""
LARGEST_CURVE = 4.0
"""The largest ε of an error curve. Above it errors hardly shrink, and the protection is weak."""
SENT_LINK_DAYS = 7
"""How long the one-time link is good for that the curator sends to somebody."""
MOST_SHOWN = 500
"""Entries of a ledger on its page, the latest."""
RELOAD = 1
"""Seconds after which the page of a running release is loaded again."""
FOUND = ("groups", "edges", "levels")
"""Options without which groups or categories are found for δ."""
FILE = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"}
"""Headers of a file: if a browser shows it after all, it can do nothing."""
OPTION = re.compile(r"\b([a-z_]+)=(?=[\s,.;)]|$)")
"""An option without a value in a message: a form has a field of that name."""
STATES = {
    "waiting": "waits for the curator",
    "refused": "refused",
    "running": "being computed",
    "answered": "answered",
    "withheld": "withheld",
}


@functools.cache
def templates() -> jinja2.Environment:
    """The templates. Whatever a name holds, it is text: escaped, and without what can't be printed."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("uptack.server", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: lines(value) if type(value) is str else value,
    )
    made.filters |= {
        "exact": Markup.escape,  # a value that a form sends back as it is
        "when": lambda seconds: time.strftime("%Y-%m-%d %H:%M", time.gmtime(float(seconds))),
        "short": lambda value: short(float(Fraction(value))),
        "left": lambda value: short(float(Fraction(value)), down=True),
        "name": label,
        "capital": lambda text: text if text == "δ" else text[:1].upper() + text[1:],
        "sentence": sentence,
        "words": in_words,
    }
    made.globals |= {"version": uptack.__version__, "field_name": FORM_TOKEN, "states": STATES, "most": MOST_LINES}
    return made


def render(name: str, visit: Visit | None, status: int = 200, **context: Any) -> Response:
    """A page for a visitor, or for somebody who is not signed in."""
    who = None if visit is None else visit.caller
    token = "" if visit is None else visit.form_token or ""
    page = templates().get_template(f"{name}.html").render(caller=who, form_token=token, **context)
    return HTMLResponse(page, status)


def error_status(error: UptackError) -> tuple[int, str]:
    """The status and the text of an error: those of the API."""
    reply = as_error(error)
    text = str(json.loads(bytes(reply.body))["error"]["message"]).replace("pass delta=1e-6", "enter a δ such as 1e-6")
    text = OPTION.sub(r"“\1”", text.replace("x must be", "the column must be", 1) if text.startswith("x ") else text)
    return reply.status_code, text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def address(request: HttpRequest) -> str:
    """The address of this server, as the visitor's browser has it."""
    base = str(request.base_url).rstrip("/")
    behind_tls = request.headers.get("x-forwarded-proto") == "https"
    return base.replace("http://", "https://", 1) if behind_tls else base


def redirect(path: str) -> Response:
    """A redirect after a form."""
    return RedirectResponse(path, 303)


def add_pages(
    app: FastAPI, service: Service, access: Access, asking: Asking, previews: FreeWork, reading: Reading
) -> None:
    """Add all pages to an application."""
    asked = questions(service.statistics())

    class Page(APIRoute):
        """A route whose errors are pages, and whose unknown visitors are sent to sign in."""

        def get_route_handler(self) -> Callable[[HttpRequest], Coroutine[Any, Any, Response]]:
            answer = super().get_route_handler()

            async def handle(request: HttpRequest) -> Response:
                try:
                    return await answer(request)
                except UptackError as error:
                    status, text = error_status(error)
                    if status == 401:
                        return redirect("/sign-in")
                    reply = render("error", await known_visit(request), status, message=text)
                    if status in (429, 503):
                        reply.headers["Retry-After"] = "1"
                    return reply

            return handle

    async def known_visit(request: HttpRequest) -> Visit | None:
        """Who visits; None for somebody who is not signed in. Both are counted."""
        try:
            return await access.visit(request)
        except Refused:
            return None

    async def form_of(request: HttpRequest) -> Form:
        """The visitor and the fields of a form that one of our pages has sent."""
        visit, fields = await access.visit(request), await read_form(request)
        access.check_form(visit, fields.pop(FORM_TOKEN, [""])[0])
        return visit, fields

    pages = APIRouter(route_class=Page, include_in_schema=False)
    known, sent = Depends(access.visit), Depends(form_of)

    # ---------------------------------------------------------------------------------------------------- signing in

    @pages.get("/")
    async def start(request: HttpRequest) -> Response:
        return redirect("/datasets" if await known_visit(request) is not None else "/sign-in")

    @pages.get("/sign-in")
    def sign_in() -> Response:
        return render("sign_in", None, error="", token="")

    @pages.get("/enter")
    def link(token: str = "") -> Response:
        return render("sign_in", None, error="", token=token)

    @pages.post("/sign-in")
    @pages.post("/enter")
    async def enter(request: HttpRequest) -> Response:
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Refused(403, "this form was sent by another site")
        try:
            await access.visit(request)  # attempts are counted
        except Refused as error:
            if error.status != 401:
                raise
        fields = await read_form(request)
        made = await run_in_threadpool(access.enter, fields.get("token", [""])[0].strip())
        if made is None:
            text = "This token or link is not valid: it may be mistyped, expired, revoked or used up."
            return render("sign_in", None, 401, error=text, token="")
        cookie, caller = made
        reply = redirect("/curator" if caller.role == "curator" else "/datasets")
        access.set_cookie(request, reply, cookie)
        return reply

    @pages.post("/sign-out")
    def sign_out(request: HttpRequest, form: Form = sent) -> Response:
        access.leave(request)
        reply = redirect("/sign-in")
        reply.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return reply

    @pages.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in STATIC:
            raise Refused(404, "there is no such file")
        content = resources.files("uptack.server").joinpath("static", name).read_bytes()
        return Response(content, media_type=STATIC[name], headers={"Cache-Control": "max-age=3600"})

    # --------------------------------------------------------------------------------------------------- for analysts

    @pages.get("/datasets")
    def datasets(visit: Visit = known) -> Response:
        seen = [name for name in service.datasets if visit.caller.sees(name)]
        return render("datasets", visit, faces=[service.face(visit.caller, name) for name in seen])

    @pages.get("/datasets/{dataset}")
    def one_dataset(dataset: str, visit: Visit = known) -> Response:
        face = service.face(visit.caller, dataset)
        order = dict.fromkeys((START, *SECTIONS.values(), OTHER))
        sections = {name: [one for one in asked.values() if one.section == name] for name in order}
        schema = service.dataset(visit.caller, dataset).session.schema
        columns = [schema.column(name) for name in face["columns"]]
        return render("dataset", visit, face=face, sections=sections, columns=columns)

    @functools.lru_cache(maxsize=256)
    def error_curve(dataset: str, statistic: str, body: str, top: float) -> list[tuple[float, float | None]]:
        """By ε, half the width of the 95% interval on made-up rows: the median of three, or None. All of it is public.

        If the largest ε gives no interval, no other is tried.
        """
        caller, request, start = Caller("", "curator"), json.loads(body), time.monotonic()
        curve: list[tuple[float, float | None]] = []
        for epsilon in (top, *(share * top for share in CURVE)):
            if curve and (curve[0][1] is None or time.monotonic() - start > CURVE_SECONDS):
                break
            at = {**request, "options": {**request["options"], "epsilon": epsilon}}
            made = [half_width(service.try_out(caller, dataset, statistic, at, seed)) for seed in range(3)]
            widths = sorted(one for one in made if one is not None)
            curve.append((epsilon, widths[len(widths) // 2] if widths else None))
        return sorted(curve, key=lambda point: point[0])

    def ask_page(
        visit: Visit, dataset: str, statistic: str, typed: Typed, error: UptackError | None = None
    ) -> Response:
        """The form of a question with what was typed; beside it, if there is an ε, the plan and an example."""
        face, question = service.face(visit.caller, dataset), question_of(statistic)
        session = service.dataset(visit.caller, dataset).session_of(visit.caller.analyst)
        top = min(face["budget"]["epsilon"], LARGEST_CURVE)
        planned: dict[str, Any] = {"plan": None, "example": None, "filled": False}
        fresh = "epsilon" not in typed
        typed = {**first_values(face, question), **typed} if fresh else typed
        status, text = (200, "") if error is None else error_status(error)
        if not fresh:
            try:
                planned, typed = with_delta(visit.caller, face, question, typed, top)
            except UptackError as wrong:
                status, text = (status, text) if error is not None else error_status(wrong)
        return render(
            "ask", visit, status, face=face, question=question, error=text, top=top, **planned,
            columns=question.columns(session, typed), fields=question.fields(session, typed, more=False),
            more=question.fields(session, typed, more=True), epsilon=typed["epsilon"][0] if typed["epsilon"] else "",
            where="\n".join(typed.get("where", ())), key=secrets.token_urlsafe(16),
            sent=[(name, value) for name, values in typed.items() if name != "example" for value in values if value],
        )  # fmt: skip

    def first_values(face: dict[str, Any], question: FormQuestion) -> dict[str, list[str]]:
        """What a form has before anything was typed: a tenth of the budget, and 95% intervals."""
        share = {"epsilon": [short(face["budget"]["epsilon"] / 10)], "interval": ["0.95"]}
        needs = question.name == REPORT or "delta" in {option.name for option in question.options if option.required}
        return share | ({"delta": [short(face["budget"]["delta"] / 10)]} if needs and face["budget"]["delta"] else {})

    def with_delta(
        caller: Caller, face: dict[str, Any], question: FormQuestion, typed: Typed, top: float
    ) -> tuple[dict[str, Any], Typed]:
        """The plan of what was typed. If groups or categories must be found, a tenth of the budget's δ is filled in."""
        try:
            return plan_of(caller, face["name"], question, typed, top), typed
        except InvalidArgument as wrong:
            share = face["budget"]["delta"] / 10
            if wrong.name not in FOUND or any(typed.get("delta", ())) or not 0 < share <= face["remaining"]["delta"]:
                raise
            filled = {**typed, "delta": [short(share)]}
            return plan_of(caller, face["name"], question, filled, top) | {"filled": True}, filled

    def plan_of(caller: Caller, dataset: str, question: FormQuestion, typed: Typed, top: float) -> dict[str, Any]:
        """What the plan of a request says, its error curve, and its answer on made-up rows if that was wanted."""
        session = service.dataset(caller, dataset).session_of(caller.analyst)
        body = question.read(session, typed)
        plan = service.plan(caller, dataset, question.name, body)
        left, price, lone = plan.remaining, plan.total, question.name != REPORT
        assert left is not None
        after = max(left.exact_epsilon - price.under(left.adjacency).exact_epsilon, Fraction(0))
        threshold = service.datasets[dataset].config.approve_above
        picture = made = None
        if question.name not in (REPORT, SYNTHETIC) and plan.releases[0].refusal is None:
            others = {name: value for name, value in body["options"].items() if name != "epsilon"}
            with contextlib.suppress(UptackError):
                written = json.dumps({**body, "options": others}, sort_keys=True)
                picture = error_picture(error_curve(dataset, question.name, written, top), price.epsilon)
        if "example" in typed:
            made = view(service.try_out(caller, dataset, question.name, body), session.line(question.title))
        waits = caller.role != "curator" and threshold is not None and price.exact_epsilon > threshold
        refusal, figures = plan.releases[0].refusal if lone else None, len(plan.releases)
        planned = {"plan": plan, "filled": False, "after": after, "refusal": refusal, "figures": figures}
        return {**planned, "waits": waits, "curve": picture, "example": made}

    def question_of(statistic: str) -> FormQuestion:
        if statistic not in asked:
            raise Refused(404, "there is no such statistic")
        return asked[statistic]

    @pages.get("/datasets/{dataset}/ask/{statistic}")
    async def ask(request: HttpRequest, dataset: str, statistic: str, visit: Visit = known) -> Response:
        query = request.query_params
        typed = {name: query.getlist(name) for name in query if name not in (FORM_TOKEN, "key")}
        if "epsilon" not in typed:  # an empty form
            return await run_in_threadpool(ask_page, visit, dataset, statistic, typed)
        return await previews(visit.caller, ask_page, visit, dataset, statistic, typed)

    @pages.post("/datasets/{dataset}/ask/{statistic}")
    async def release(dataset: str, statistic: str, form: Form = sent) -> Response:
        visit, typed = form
        key = typed.pop("key", [""])[0]
        session = service.dataset(visit.caller, dataset).session_of(visit.caller.analyst)

        def ask() -> Record | NoReply:
            body = question_of(statistic).read(session, typed)
            return service.ask(visit.caller, dataset, statistic, body, key)

        try:
            made = await asking(visit.caller, ask)
        except UptackError as error:
            typed = {"epsilon": [""], **typed}
            return await previews(visit.caller, ask_page, visit, dataset, statistic, typed, error)
        if isinstance(made, NoReply):  # for free: the plan says so
            return redirect(f"/datasets/{dataset}/ask/{statistic}?{urlencode(typed, doseq=True)}")
        return redirect(f"/releases/{made.id}")

    @pages.get("/releases")
    def my_releases(visit: Visit = known) -> Response:
        found = service.store.list_releases(visit.caller.analyst, datasets=visit.caller.datasets)
        return render("releases", visit, releases=found)

    @pages.get("/releases/{id}")
    async def one_release(request: HttpRequest, id: str, visit: Visit = known) -> Response:
        record = await run_in_threadpool(service.release, visit.caller, id)
        code = in_python(address(request), record.dataset, record.statistic, json.loads(record.request))

        def show() -> Response:
            if record.state != "answered":
                reload = RELOAD if record.state == "running" else None
                return render("release", visit, record=record, reload=reload, code=code)
            made = service.answer(visit.caller, id)
            relation = made.privacy.adjacency  # not that of the data set, which may not be served any more
            paid = Privacy(Fraction(record.epsilon), Fraction(record.delta), relation)  # the answer may have cost less
            meaning = sentence(paid.explain().replace("\n", " ").partition(": ")[2])
            return render(
                "release", visit, record=record, answer=view(made, record.line), reload=None, code=code,
                promise=promise(paid), meaning=meaning,
            )  # fmt: skip

        return await reading(visit.caller, record, show)

    @pages.get("/releases/{id}/{file}")
    async def download(id: str, file: str, visit: Visit = known) -> Response:
        caller = visit.caller
        record = await run_in_threadpool(service.release, caller, id)
        name = f"{record.dataset}-{record.statistic}"

        def write_file() -> Response:
            made = service.answer(caller, id)
            writers: dict[str, tuple[Callable[[], str], str]] = {
                "answer.json": (lambda: json_text(made.to_dict(), indent=2), "application/json"),
                "answer.csv": (lambda: as_csv(made), "text/csv"),
            }
            if isinstance(made, StoredReport):
                writers["report.html"] = (made.to_html, "text/html")
            if file not in writers:
                raise Refused(404, "there is no such file")
            write, kind = writers[file]
            sent = {**FILE, "Content-Disposition": f'attachment; filename="{name}.{file.rpartition(".")[2]}"'}
            return Response(write(), media_type=kind, headers=sent)

        return await reading(caller, record, write_file)

    # ------------------------------------------------------------------------------------------------- for the curator

    def budgets(name: str) -> list[dict[str, Any]]:
        book = service.datasets[name].ledger
        allowed = {one.analyst: one.cost for one in book.entries(kind="allowance")}
        return [
            {"analyst": who, "allowed": allowed.get(who), "spent": book.spent(who), "left": book.remaining(who)}
            for who in book.analysts()
        ]

    def curator_page(
        visit: Visit, typed: Typed | None = None, error: UptackError | None = None, issued: dict[str, Any] | None = None
    ) -> Response:
        """The curator's page, with what was typed if a form of it was wrong, or with a token that was just issued."""
        caller = access.check_curator(visit)
        seen = [name for name in service.datasets if caller.sees(name)]
        found = service.store.list_releases(datasets=caller.datasets)
        waiting = service.store.list_releases(state="waiting", datasets=caller.datasets)
        status, text = (200, "") if error is None else error_status(error)
        held = {name: values[0] for name, values in (typed or {}).items() if values}
        return render(
            "curator", visit, status, error=text, issued=issued, typed=held, waiting=waiting, releases=found,
            datasets=[(service.face(caller, name), service.datasets[name], budgets(name)) for name in seen],
            tokens=[(one, one.valid(time.time())) for one in service.tokens(caller)],
        )  # fmt: skip

    @pages.get("/curator")
    def curator(visit: Visit = known) -> Response:
        return curator_page(visit)

    def curator_form(path: str) -> Callable[[Callable[..., Response | None]], None]:
        """A form of the curator: `act(visit, fields, request)` does it, and the page is loaded again."""

        def add(act: Callable[..., Response | None]) -> None:
            @pages.post(path)
            def handle(request: HttpRequest, form: Form = sent) -> Response:
                access.check_curator(form[0])
                try:
                    return act(*form, request, **request.path_params) or redirect("/curator")
                except UptackError as error:
                    return curator_page(*form, error)

        return add

    @curator_form("/curator/decisions/{id}")
    def decide(visit: Visit, fields: Typed, _: HttpRequest, id: str) -> None:
        service.decide(visit.caller, id, fields.get("approve") == ["yes"])

    @curator_form("/curator/pause/{dataset}")
    def pause(visit: Visit, fields: Typed, _: HttpRequest, dataset: str) -> None:
        service.dataset(visit.caller, dataset)
        service.pause(dataset, fields.get("paused") == ["yes"])

    @curator_form("/curator/allowances/{dataset}")
    def allow(visit: Visit, fields: Typed, _: HttpRequest, dataset: str) -> None:
        book = service.dataset(visit.caller, dataset).ledger
        values: list[Any] = []
        for name in ("epsilon", "delta"):
            typed = fields.get(name, [""])[0].strip() or "0"
            try:
                values.append(read_number(typed))
            except (ValueError, ArithmeticError):
                raise InvalidArgument(name, "a number", repr(typed[:40])) from None
        book.allow(fields.get("analyst", [""])[0].strip(), *values)

    @curator_form("/curator/tokens")
    def issue(visit: Visit, fields: Typed, request: HttpRequest) -> Response:
        body: dict[str, Any] = {name: fields.get(name, [""])[0].strip() for name in ("name", "role")}
        days = fields.get("days", [""])[0].strip() or "90"
        if not days.isascii() or not days.isdigit() or len(days) > 9:  # long ones fail in int()
            raise InvalidArgument("days", "a whole number", repr(days[:40]))
        chosen = [one for one in fields.get("dataset", ()) if one]
        body |= {"days": int(days), "datasets": chosen or [*visit.caller.datasets]}
        secret = issue_token(service, visit.caller, body)
        kept = min(SENT_LINK_DAYS, int(days))
        link = service.store.issue(body["name"], body["role"], tuple(body["datasets"]), days=kept, purpose="link")
        shown = {"name": body["name"], "token": secret, "link": f"{address(request)}/enter?token={link}", "days": kept}
        return curator_page(visit, issued=shown)

    @curator_form("/curator/tokens/{hash}/revoke")
    def revoke(visit: Visit, fields: Typed, _: HttpRequest, hash: str) -> None:
        service.revoke(visit.caller, hash)

    def ledger_page(visit: Visit, dataset: str, result: Any = None) -> Response:
        access.check_curator(visit)
        book = service.dataset(visit.caller, dataset).ledger
        entries, head = book.entries(latest=MOST_SHOWN), book.head()
        return render(
            "ledger", visit, dataset=dataset, entries=entries[::-1], head=head, budget=book.budget, spent=book.spent(),
            left=book.remaining(), whose=service.dataset(visit.caller, dataset).session.whose, result=result,
        )  # fmt: skip

    @pages.get("/curator/ledger/{dataset}")
    def ledger(dataset: str, visit: Visit = known) -> Response:
        return ledger_page(visit, dataset)

    @pages.post("/curator/ledger/{dataset}")
    def verify(dataset: str, form: Form = sent) -> Response:
        book = service.dataset(access.check_curator(form[0]), dataset).ledger
        return ledger_page(form[0], dataset, book.verify())

    app.include_router(pages)
