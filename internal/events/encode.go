package events

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// usualSize is enough for nearly all events, in bytes.
const usualSize = 640

// encode returns an event as JSON. The result is the same as that of json.Marshal. But json.Marshal allocates for every time and checks its
// own output. It takes several times as long, and every action has two or three events.
func encode(e *schedule.Event) ([]byte, error) {
	w := writer{data: append(make([]byte, 0, usualSize), '{')}
	w.text("id", e.ID)
	w.time("time", e.Time)
	w.text("namespace", e.Namespace)
	w.text("scheduleId", e.ScheduleID)
	w.text("kind", string(e.Kind))
	w.textUnlessEmpty("requestId", e.RequestID)
	w.textUnlessEmpty("workflowId", e.WorkflowID)
	w.textUnlessEmpty("runId", e.RunID)
	w.timeUnlessZero("nominalTime", e.Nominal)
	w.timeUnlessZero("actualTime", e.Actual)
	if e.Manual {
		w.key("manual")
		w.data = append(w.data, "true"...)
	}
	w.textUnlessEmpty("status", string(e.Status))
	w.timeUnlessZero("codeTime", e.CodeTime)
	w.timeUnlessZero("closeTime", e.CloseTime)
	w.numberUnlessZero("attempt", e.Attempt)
	w.textUnlessEmpty("worker", e.Worker)
	w.numberUnlessZero("count", e.Count)
	w.timeUnlessZero("first", e.First)
	w.timeUnlessZero("last", e.Last)
	w.textUnlessEmpty("source", e.Source)
	w.textUnlessEmpty("overlap", string(e.Overlap))
	w.textUnlessEmpty("taskQueue", e.TaskQueue)
	w.textUnlessEmpty("actionKind", string(e.ActionKind))
	w.textUnlessEmpty("identity", e.Identity)
	if len(e.Result) > 0 {
		w.value("result", e.Result)
	}
	w.numberUnlessZero("resultBytes", e.ResultBytes)
	if e.Failure != nil {
		w.value("failure", e.Failure)
	}
	w.textUnlessEmpty("reason", e.Reason)
	w.textUnlessEmpty("trace", e.Trace)
	if w.failed {
		return json.Marshal(e) // it says what is wrong
	}
	return append(w.data, '}'), nil
}

// writer appends the fields of an object that has begun.
type writer struct {
	data []byte
	// failed says that a value cannot be written as JSON.
	failed bool
}

func (w *writer) key(name string) {
	if w.data[len(w.data)-1] != '{' {
		w.data = append(w.data, ',')
	}
	w.quoted(name)
	w.data = append(w.data, ':')
}

func (w *writer) quoted(plain string) {
	w.data = append(append(append(w.data, '"'), plain...), '"')
}

func (w *writer) text(key, text string) {
	if !isPlain(text) {
		w.value(key, text)
		return
	}
	w.key(key)
	w.quoted(text)
}

func (w *writer) textUnlessEmpty(key, text string) {
	if text != "" {
		w.text(key, text)
	}
}

func (w *writer) time(key string, at time.Time) {
	w.key(key)
	data, err := at.AppendText(append(w.data, '"'))
	w.data, w.failed = append(data, '"'), w.failed || err != nil
}

func (w *writer) timeUnlessZero(key string, at time.Time) {
	if !at.IsZero() {
		w.time(key, at)
	}
}

func (w *writer) numberUnlessZero(key string, number int) {
	if number != 0 {
		w.key(key)
		w.data = strconv.AppendInt(w.data, int64(number), 10)
	}
}

// value writes values that are rare or not simple.
func (w *writer) value(key string, v any) {
	w.key(key)
	data, err := json.Marshal(v)
	w.data, w.failed = append(w.data, data...), w.failed || err != nil
}

// plainBytes are the bytes that a JSON string contains unchanged. Like encoding/json, it escapes HTML characters.
var plainBytes = func() (plain [256]bool) {
	for c := byte(' '); c < 0x80; c++ {
		plain[c] = !strings.ContainsRune(`"\<>&`, rune(c))
	}
	return plain
}()

func isPlain(text string) bool {
	for i := range len(text) {
		if !plainBytes[text[i]] {
			return false
		}
	}
	return true
}
