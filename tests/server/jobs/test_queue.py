"""The queue: two places, the same behaviour. What it holds is a stored format."""

import json
import sqlite3
import threading

import pytest
import sqlalchemy as sa

from tacita.server.jobs.queue import Queue
from tacita.store import Database
from tacita.store.schema import job_queue


@pytest.fixture(params=["file", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def queues(request, tmp_path):
    """Two ends of one queue, as two processes have them."""
    made = []
    if request.param == "file":
        made = [Queue(tmp_path / "queue.db") for _ in range(2)]
        yield made
    else:
        url = f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
        databases = [Database(url) for _ in range(2)]
        made = [Queue(database) for database in databases]
        yield made
        for database in databases:
            database.close()
    for queue in made:
        queue.close()


def taken(queue) -> str | None:
    task = queue._huey.dequeue()
    return None if task is None else str(task.args[0])


def test_what_one_process_puts_another_takes_in_order(queues):
    one, other = queues
    for number in range(3):
        one.put(f"job-{number}")
    assert other.waiting() == one.waiting() == {"job-0", "job-1", "job-2"}
    assert [taken(other), taken(one), taken(other), taken(one)] == ["job-0", "job-1", "job-2", None]
    assert one.waiting() == set()


def test_each_message_is_taken_once_however_many_ask(queues):
    for number in range(40):
        queues[0].put(f"job-{number}")
    found: list[str] = []

    def take(queue):
        while (id := taken(queue)) is not None or queue.waiting():
            if id is not None:
                found.append(id)

    threads = [threading.Thread(target=take, args=(queues[number % 2],)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(found) == sorted(f"job-{number}" for number in range(40))


def test_a_flushed_queue_is_empty(queues):
    queues[0].put("job")
    queues[0]._huey.flush()
    assert queues[1].waiting() == set()
    assert taken(queues[1]) is None


@pytest.mark.postgres
def test_a_message_that_is_being_taken_keeps_nobody_waiting(postgres_url):
    """A worker that hangs while it takes one must not stop the others."""
    # one that would wait fails instead of hanging
    one, other = Database(postgres_url), Database(f"{postgres_url}&options=-c%20lock_timeout%3D120s")
    queue = Queue(other)
    queue.put("first")
    queue.put("second")
    with one.writing() as connection:
        held = job_queue.select().order_by(job_queue.c.number).limit(1).with_for_update()
        connection.execute(held).one()
        assert taken(queue) == "second"
        assert taken(queue) is None
    assert taken(queue) == "first"
    one.close()
    other.close()


def test_messages_of_earlier_versions_are_read(tmp_path):
    """They name the task by the module that it was in."""
    file = tmp_path / "queue.db"
    queue = Queue(file)
    queue.put("job-1")
    with sqlite3.connect(file) as connection:
        ((data,),) = connection.execute("SELECT data FROM task")
        message = json.loads(data)
        assert message[1] == "tacita.server.queue.work"
        other = ["another", "some.older.module.work", *message[2:6], ["job-2"], *message[7:]]
        connection.execute("UPDATE task SET data = ?", [json.dumps(other).encode()])
    assert queue.waiting() == {"job-2"}
    queue.close()


def test_the_state_holds_plain_messages(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/s.db")
    Queue(database).put("job-1")
    with database.reading() as connection:
        message = json.loads(connection.execute(sa.select(job_queue.c.message)).scalar_one())
    assert message[1] == "tacita.server.queue.work"
    assert message[6] == ["job-1"]
    database.close()
