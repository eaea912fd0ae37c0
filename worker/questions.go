package worker

import (
	"encoding/json"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/workerbus"
	"github.com/carillon-scheduler/carillon/schedule"
)

// mayAnswer reports whether somebody waits for an answer, on a subject outside of the installation. On a subject of the installation, the
// answer could be taken for something else.
func (w *Worker) mayAnswer(msg workerbus.Message) bool {
	return msg.Respond != nil && !w.names.IsOwn(msg.Reply)
}

// onQuestion answers whoever asks whether this worker has a run, if it has. The worker has the run until its completion is stored, however
// long ago its code returned.
func (w *Worker) onQuestion(msg workerbus.Message) {
	run := msg.Subject[strings.LastIndexByte(msg.Subject, '.')+1:]
	if !w.mayAnswer(msg) || w.held.byRunID(run) == nil {
		return
	}
	data, err := json.Marshal(schedule.Liveness{RunID: run, Worker: w.config.Identity})
	if err == nil {
		err = msg.Respond(data)
	}
	if err != nil {
		w.others.Warn("question about a run not answered", "run_id", run, keyError, err)
	}
}

// onTypes answers whoever asks which action types this worker has. The answer reveals a mistyped type before its first run.
func (w *Worker) onTypes(msg workerbus.Message) {
	if !w.mayAnswer(msg) {
		return
	}
	data, err := json.Marshal(schedule.NewActionTypes(w.config.Identity, w.types()))
	if err == nil {
		err = msg.Respond(data)
	}
	if err != nil {
		w.others.Warn("question about action types not answered", keyError, err)
	}
}
