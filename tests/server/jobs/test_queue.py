"""The queue's file is a stored format."""

import json
import sqlite3

from tacita.server.jobs.queue import Queue


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
