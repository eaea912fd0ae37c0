package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// In a part of the plans with checks JetStream loses messages that it has acknowledged, as a disk may, or a person who purges. Nothing
// tells the pools of it. A check with repair must find what is missing: all comes to rest, each action has become something, and
// nothing is started twice for that.

// loss is what JetStream loses.
type loss string

const (
	lossDue      loss = "due timer"
	lossGuard    loss = "guard"
	lossRetry    loss = "retry timer"
	lossBackfill loss = "backfill timer"
	lossRun      loss = "run"
	lossWake     loss = "wake of a generator"
	lossInvoke   loss = "wake of an invoker"
	lossStep     loss = "wake of a backfiller"
	lossHandOff  loss = "hand-off"
	lossReport   loss = "completion"
)

var allLosses = []loss{
	lossDue, lossGuard, lossRetry, lossBackfill, lossRun, lossWake, lossInvoke, lossStep, lossHandOff, lossReport,
}

// losses is what is lost.
type losses struct {
	// awaited are those whose message has still to come.
	awaited []loss
	// of has what each schedule has lost.
	of map[string][]loss
	// rng draws what becomes of them.
	rng *rand.Rand
}

// arrangeLosses plans what is lost: the next message of a kind.
func (w *world) arrangeLosses() {
	rng := rand.New(rand.NewPCG(w.seed, streamLosses))
	w.losses = losses{of: map[string][]loss{}, rng: rng}
	for range w.plan.Losses {
		kind := allLosses[rng.IntN(len(allLosses))]
		w.at(w.moment(between(rng, 0, w.plan.Duration)), func(time.Time) { w.losses.awaited = append(w.losses.awaited, kind) })
	}
}

// lossOf says which loss it would be to lose a message, and the stream and schedule of that.
func (w *world) lossOf(subject string, data []byte) (kind loss, stream, id string) {
	if task, err := w.names.ParseTask(subject); err == nil {
		stream, id = w.names.TaskStream(task.Shard), nameOf(task.Key)
		switch {
		case task.IsEnd(): // it is all that there is of what somebody has asked for
		case task.IsHandOff() && strings.HasPrefix(task.What, schedule.SourceAuto+"-"):
			return lossHandOff, stream, id
		case task.IsHandOff(): // that of a trigger or backfill
		case task.Role == "callback":
			return lossReport, stream, id
		case task.Role == "generate":
			return lossWake, stream, id
		case task.Role == "invoke":
			return lossInvoke, stream, id
		case task.Role == "backfill":
			return lossStep, stream, id
		}
		return "", "", ""
	}
	tokens := strings.Split(strings.TrimPrefix(subject, w.names.Prefix()+"."), ".")
	switch {
	case tokens[0] == "timer" && len(tokens) > 4:
		key := schedule.Key{Namespace: tokens[3], ID: tokens[4]}
		kinds := map[string]loss{"due": lossDue, "guard": lossGuard, "retry": lossRetry, "backfill": lossBackfill}
		return kinds[tokens[2]], w.names.TaskStream(subjects.ShardOf(key, shards)), nameOf(key)
	case tokens[0] == "action":
		var request schedule.ActionRequest
		if json.Unmarshal(data, &request) != nil {
			return "", "", "" // an anchor
		}
		return lossRun, w.names.ActionStream(), idOf(&request)
	}
	return "", "", ""
}

// lose loses a message that has just been stored, some time later, if one of its kind is to be lost. If it is gone by then, as it should
// be, the next one is.
func (w *world) lose(subject string, data []byte, now time.Time) {
	if len(w.losses.awaited) == 0 {
		return
	}
	kind, stream, id := w.lossOf(subject, data)
	i := slices.Index(w.losses.awaited, kind)
	if i < 0 {
		return
	}
	w.losses.awaited = slices.Delete(w.losses.awaited, i, i+1)
	stored, _ := w.server.Last(stream, subject)
	after := between(w.losses.rng, 0, 5*time.Millisecond)
	if w.losses.rng.IntN(2) == 0 {
		after = between(w.losses.rng, 0, 3*time.Second)
	}
	w.at(now.Add(after), func(now time.Time) {
		switch {
		case w.calm:
		case w.server.Remove(stream, stored.Sequence):
			w.fault("lost " + string(kind))
			w.trace.note(now, "LOSS", fmt.Sprintf("%s: %s #%d", kind, subject, stored.Sequence))
			w.losses.of[id] = append(w.losses.of[id], kind)
			switch kind {
			case lossRun:
				w.ledger.run(stored.Header.Get(nats.MsgIdHdr)).lost = true
			case lossReport:
				w.ledger.run(subject[strings.LastIndexByte(subject, '.')+1:]).lost = true
			}
			w.stir()
		default:
			w.losses.awaited = append(w.losses.awaited, kind)
		}
	})
}

// hasLost reports whether a message of a schedule was lost.
func (w *world) hasLost(id string) bool { return len(w.losses.of[id]) > 0 }
