package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// In a part of the plans with checks JetStream loses messages that it has acknowledged, as a disk or a person who purges may.
// Nothing tells the pools. A check with repair, or in TestLosses scrubbers alone, must find what is missing. Then all comes to
// rest, each action has a fate, and nothing is started twice, except what was itself lost.

// loss is a kind of message that JetStream loses.
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

// losses is the state of the losses.
type losses struct {
	// awaited are the losses whose message has still to come.
	awaited []loss
	// of has what each schedule has lost, handOffs the hand-offs among that.
	of       map[string][]loss
	handOffs map[string][]wire.Enqueue
	// muted are the subjects whose next message is lost as well.
	muted map[string]bool
	// rng draws how each loss happens.
	rng *rand.Rand
}

// arrangeLosses plans the losses: each takes the next message of its kind.
func (w *world) arrangeLosses() {
	rng := rand.New(rand.NewPCG(w.seed, streamLosses))
	w.losses = losses{of: map[string][]loss{}, handOffs: map[string][]wire.Enqueue{}, muted: map[string]bool{}, rng: rng}
	kinds := allLosses
	if !w.plan.Checks { // a scrubber leaves it to a person to handle a lost hand-off
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(l loss) bool { return l == lossHandOff })
	}
	for range w.plan.Losses {
		kind := kinds[rng.IntN(len(kinds))]
		w.at(w.moment(between(rng, 0, w.plan.Duration)), func(time.Time) { w.losses.awaited = append(w.losses.awaited, kind) })
	}
}

// lossOf returns the kind of loss that losing a message would be, with its stream and schedule.
func (w *world) lossOf(subject string, data []byte) (kind loss, stream, id string) {
	if task, err := w.names.ParseTask(subject); err == nil {
		stream, id = w.names.StreamOf(task), nameOf(task.Key)
		switch {
		case task.IsEnd(): // it is all that exists of a person's request
		case task.IsHandOff() && strings.HasPrefix(task.What, schedule.SourceAuto+"-"):
			return lossHandOff, stream, id
		case task.IsHandOff(): // of a trigger or backfill
		case task.IsCompletion():
			return lossReport, stream, id
		case task.Role == subjects.RoleGenerate:
			return lossWake, stream, id
		case task.Role == subjects.RoleInvoke:
			return lossInvoke, stream, id
		case task.Role == subjects.RoleBackfill:
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

// losing is a message that is to be lost.
type losing struct {
	kind                loss
	stream, subject, id string
	stored              jsmodel.Message
	// thorough says that nothing else may replace the message: as far as can be told, nobody else would do its work, and nobody
	// has received it.
	thorough bool
}

// lose loses a message that has just been stored, if one of its kind is to be lost: at once, or some time later, as timers
// always are. If it is gone by then, as it should be, the next one of its kind is lost instead.
func (w *world) lose(subject string, data []byte, now time.Time) {
	if len(w.losses.awaited)+len(w.losses.muted) == 0 {
		return
	}
	l := losing{subject: subject}
	l.kind, l.stream, l.id = w.lossOf(subject, data)
	i := slices.Index(w.losses.awaited, l.kind)
	switch {
	case w.losses.muted[subject]:
		delete(w.losses.muted, subject)
		l.thorough = true
	case i < 0:
		return
	default:
		w.losses.awaited = slices.Delete(w.losses.awaited, i, i+1)
		l.thorough = w.losses.rng.IntN(4) > 0
	}
	l.stored, _ = w.server.Last(l.stream, subject)
	if _, timer := woken[l.kind]; l.thorough && !timer {
		w.lost(&l, now)
		return
	}
	after := between(w.losses.rng, 0, 5*time.Millisecond)
	if w.losses.rng.IntN(2) == 0 {
		after = between(w.losses.rng, 0, 3*time.Second)
	}
	w.at(now.Add(after), func(now time.Time) { w.lost(&l, now) })
}

// lost loses a message.
func (w *world) lost(l *losing, now time.Time) {
	switch {
	case w.calm:
	case l.thorough && w.isHealed(l), !w.server.Remove(l.stream, l.stored.Sequence):
		w.losses.awaited = append(w.losses.awaited, l.kind)
	default:
		w.fault("lost " + string(l.kind))
		w.trace.note(now, "LOSS", fmt.Sprintf("%s: %s #%d", l.kind, l.subject, l.stored.Sequence))
		w.losses.of[l.id] = append(w.losses.of[l.id], l.kind)
		w.noteLost(l)
		w.stir()
	}
}

// noteLost notes the consequences of a loss.
func (w *world) noteLost(l *losing) {
	switch l.kind {
	case lossRun:
		w.ledger.run(l.stored.Header.Get(nats.MsgIdHdr)).lost = true
	case lossReport:
		w.ledger.run(lastToken(l.subject)).lost = true
	case lossHandOff:
		var e wire.Enqueue
		if err := codec.Unmarshal(l.stored.Data, &e); err != nil {
			panic(err) // the generator has made it
		}
		w.losses.handOffs[l.id] = append(w.losses.handOffs[l.id], e)
	case lossBackfill:
		if l.thorough { // the invoker wakes the backfiller, and the timer is there in case that fails
			key := keyOf(l.id)
			w.losses.muted[w.names.Backfill(subjects.ShardOf(key, shards), key, lastToken(l.subject))] = true
		}
	}
}

func lastToken(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// woken are the roles that each kind of timer wakes.
var woken = map[loss]subjects.Role{
	lossDue: subjects.RoleGenerate, lossGuard: subjects.RoleGenerate, lossRetry: subjects.RoleInvoke, lossBackfill: subjects.RoleBackfill,
}

// isHealed reports whether the loss of a timer changes nothing: the pool that it wakes has a message about the same thing, or
// another timer that wakes it, or nothing to do.
func (w *world) isHealed(l *losing) bool {
	key := keyOf(l.id)
	switch l.kind {
	case lossBackfill:
		if _, ok := record(w, key, kv.Backfill(key, lastToken(l.subject))); !ok {
			return true
		}
	case lossDue:
		if g, ok := record(w, key, kv.Generator(key)); !ok || g.Next.IsZero() {
			return true
		}
	case lossRetry:
	default:
		return false
	}
	for _, m := range w.server.Messages(l.stream, ">") {
		task, err := w.names.ParseTask(m.Subject)
		switch {
		case err != nil:
			if other, _, id := w.lossOf(m.Subject, m.Data); l.kind == lossDue && other == lossGuard && id == l.id {
				return true
			}
		case task.Role == woken[l.kind] && nameOf(task.Key) == l.id && (l.kind != lossBackfill || task.What == lastToken(l.subject)):
			return true
		}
	}
	return false
}

// overtaken reports whether a time was in a hand-off that JetStream has lost, and cannot be handed over again. There are four
// reasons: the schedule was changed or unpaused since, and the generator begins from there; another version of a calendar may
// leave the time out; the schedule is paused; or its actions are limited, and later ones may have used them up. A repair cannot
// do better, because nobody knows what the generator would have done under an earlier definition.
func (c *checker) overtaken(nominal time.Time) bool {
	d := c.definition
	since := maxTime(d.UpdateTime, maxTime(d.ActiveSince, d.ReplanTime))
	gone := d.Schedule.State.Paused || d.Schedule.State.LimitedActions
	return slices.ContainsFunc(c.losses.handOffs[c.id], func(e wire.Enqueue) bool {
		return e.Incarnation == d.Incarnation && nominal.After(e.From.Add(-longestJitter)) && !nominal.After(e.To) &&
			(gone || !nominal.After(since))
	})
}

// hasLost reports whether a message of a schedule was lost.
func (w *world) hasLost(id string) bool { return len(w.losses.of[id]) > 0 }
