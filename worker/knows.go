package worker

import (
	"encoding/json"

	"github.com/carillon-scheduler/carillon/internal/workerbus"
	"github.com/carillon-scheduler/carillon/schedule"
)

// onTypes answers whoever asks which action types this worker has. A mistyped type is noticed by that before its first run.
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
