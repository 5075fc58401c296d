"""Web processes and workers apart, on SQLite and on PostgreSQL."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from psgraph.errors import InvalidArgument, LedgerBusy
from psgraph.service.audit_log import SERVICE, AuditLog
from psgraph.service.database import SqliteDatabase
from psgraph.service.inbox import Entry, Queue
from psgraph.service.schemas import NewToken
from psgraph.service.service import Service
from psgraph.service.settings import Settings
from psgraph.service.tokens import Tokens
from tests.service.offline import Offline
from tests.service.postgres import Postgres, needs_postgres
from tests.service.team_trial import TeamTrial


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def database(request, tmp_path):
    if request.param == "sqlite":
        opened = SqliteDatabase(tmp_path / "service.sqlite")
    else:
        import psycopg

        from psgraph.service.postgres import PostgresDatabase

        server = request.getfixturevalue("postgres")
        with psycopg.connect(server.address, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        opened = PostgresDatabase(server.address)
    yield opened
    opened.close()


def test_both_databases_take_the_same_statements(database):
    audit = AuditLog(database)
    made = Tokens(database, audit).create(NewToken(role="auditor"), SERVICE)
    assert Tokens(database, audit).check(made.token).role == "auditor"
    audit.add(SERVICE, "verify", stream="calls")
    assert [each.action for each in audit.entries()] == ["verify", "create auditor token"]
    assert audit.count("main", streams=["calls"]) == 1
    assert audit.verify(SERVICE, known_head=audit.head()).ok
    queue = Queue(database)
    for state in ("queued", "refused", "queued"):
        queue.put("calls", Entry(0, "0", state, b"\0mark", "file"))
    assert queue.find("calls", 0) == Entry(0, "0", "queued", b"\0mark", "file")
    assert (queue.unreleased(), queue.backlog()) == ({"calls": {"queued"}}, {"calls": 1})


@pytest.mark.parametrize("change", ["DELETE FROM audit", "UPDATE audit SET digest = ''"])
def test_the_audit_log_is_append_only_in_both(database, change):
    AuditLog(database).add(SERVICE, "verify")
    with pytest.raises(Exception, match="append-only"):
        database.write(change)
    assert AuditLog(database).count("main") == 1


def test_a_failed_transaction_leaves_nothing_in_both(database):
    with suppress(ZeroDivisionError), database.transaction() as connection:
        connection.execute("INSERT INTO key_check VALUES (?)", (b"key",))
        raise ZeroDivisionError
    assert database.rows("SELECT * FROM key_check") == []


@needs_postgres
def test_a_lost_database_is_an_error_until_it_is_back(postgres):
    from psgraph.service.postgres import DatabaseLost, PostgresDatabase

    database = PostgresDatabase(postgres.address)
    postgres.kill()
    with pytest.raises(DatabaseLost):
        database.write("INSERT INTO contents VALUES (?, ?)", (b"0", "calls"))
    postgres.start()
    time.sleep(1)
    database.write("INSERT INTO contents VALUES (?, ?)", (b"1", "calls"))
    assert database.rows("SELECT mark FROM contents WHERE stream = 'calls'") == [(b"1",)]
    database.close()


@needs_postgres
def test_an_address_that_does_not_answer_is_refused_without_being_shown(tmp_path):
    from psgraph.service.postgres import PostgresDatabase

    with pytest.raises(InvalidArgument) as refused:
        PostgresDatabase("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(refused.value)
    with pytest.raises(InvalidArgument):
        Settings(tmp_path, database="mysql://127.0.0.1")


def test_one_process_alone_and_a_team_do_not_share_a_directory(tmp_path):
    alone = Service(Settings(tmp_path))
    with pytest.raises(LedgerBusy, match="--workers 0"):
        Service(Settings(tmp_path, part="worker"))
    alone.stop()
    team = [Service(Settings(tmp_path, part=part)) for part in ("web", "worker", "worker")]
    with pytest.raises(LedgerBusy):
        Service(Settings(tmp_path))
    for each in team:
        each.stop()


def test_a_start_does_not_write_for_each_stream(tmp_path, monkeypatch):
    """A thousand flushes to the disk would take longer than all else."""
    alone = Offline(tmp_path / "data", monkeypatch)
    alone.create("first")
    alone.close()

    def transactions() -> int:
        counted: list[None] = []
        real = SqliteDatabase.transaction
        with monkeypatch.context() as patch:
            patch.setattr(
                SqliteDatabase, "transaction", lambda self: counted.append(None) or real(self)
            )
            Service(Settings(tmp_path / "data", part="web")).stop()
        return len(counted)

    few = transactions()
    alone.open()
    for number in range(5):
        alone.create(f"s{number}")
    alone.close()
    assert transactions() == few


# ---- leases ----


@pytest.fixture
def team(tmp_path):
    from psgraph.service.schemas import NewStream

    web, *workers = (Service(Settings(tmp_path, part=part)) for part in ("web", "worker", "worker"))
    terms = NewStream(name="calls", epsilon="1", window=3, method="psgraph", roster="edges")
    web.streams.create(terms, SERVICE)
    for each in workers:
        each.streams.look()
    yield web, *workers
    for each in (web, *workers):
        each.stop()


def named(service):
    return next(iter(service.streams))


def test_a_stream_has_one_worker_at_a_time(team):
    _, first, second = team
    assert first.team.take(named(first))
    assert not second.team.take(named(second))
    assert second.team.busy() == {"calls"}
    first.team.give(named(first))
    assert second.team.take(named(second))


def test_a_lease_that_ends_early_costs_time_and_no_second_draw(team):
    """The first worker is in the middle of a timestamp when its lease ends."""
    from psgraph.publication.locations import ledger_at
    from psgraph.publication.publisher import Publisher

    web, first, second = team
    assert first.team.take(named(first))
    web.queue.put("calls", Entry(0, "0", "queued", b"", "file"))
    with Publisher.resume(ledger_at(named(first).out)):  # it publishes
        web.database.write("UPDATE work SET until = 0")
        second.worker.publish_due()
        assert named(second).trouble is None
        assert named(second).sealed == 0


def test_what_a_worker_seals_and_what_stops_it_is_seen_by_the_others(team):
    web, first, second = team
    stream = named(first)
    assert first.team.take(stream)
    stream.sealed, stream.stopped, stream.trouble = 3, True, "why"
    first.team.mark(stream, 3)
    first.team.give(stream)
    for other in (web, second):
        other.streams.look()
        seen = named(other)
        assert (seen.sealed, seen.taken, seen.stopped, seen.trouble) == (3, 4, True, "why")
    web.team.continue_stopped(named(web))
    second.streams.look()
    assert not named(second).stopped


def test_a_token_of_another_web_process_works_at_once_and_ends_soon(tmp_path):
    first, second = (Service(Settings(tmp_path, part="web")) for _ in range(2))
    first.first_token()
    made = first.tokens.create(NewToken(role="analyst"), SERVICE)
    second.tokens.look_for(made.token)
    assert second.tokens.check(made.token).role == "analyst"
    first.tokens.revoke(made.id, SERVICE)
    second.look()
    assert second.tokens.recognised(made.token) is None
    cookie, session = first.sessions.start(made.id)
    assert second.sessions.unseen(cookie)
    second.look()
    assert second.sessions.find(cookie) == session
    for each in (first, second):
        each.stop()


# ---- killed ----


@pytest.mark.slow
def test_nothing_is_lost_or_drawn_twice_when_workers_on_sqlite_are_killed(tmp_path):
    trial = TeamTrial(tmp_path / "data", seed=31, asked_again=30)
    trial.run_team(workers=2, clients=10, streams=8, kills=3)
    checked(trial)


@pytest.mark.slow
@needs_postgres
def test_nothing_is_lost_or_drawn_twice_when_workers_and_postgres_are_killed(tmp_path):
    with Postgres() as own:
        trial = TeamTrial(tmp_path / "data", seed=32, asked_again=30, postgres=own)
        trial.run_team(workers=2, clients=10, streams=8, kills=3, database_kills=1)
    assert trial.report()["database_kills"] == 1
    checked(trial)


def checked(trial: TeamTrial) -> None:
    report = trial.report()
    assert report["violations"] == []
    assert report["kills"] == 3
    assert report["accepted"] > 3
