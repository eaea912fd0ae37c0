package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
)

// In some plans the stored state is looked after: by scrubbers, by checks with repair that somebody runs now and then, or by
// both. In an installation scrubbers are part of the generator's processes; here they are processes of their own. They work
// amid all the faults, and are killed like all other processes. A repair must break no promise, and when all has come to rest a
// check must find nothing.

// scrub draws who looks after the stored state.
func (p *SystemPlan) scrub(rng *rand.Rand) {
	if rng.IntN(6) > 0 {
		return
	}
	p.Checks, p.Scrubbers, p.Losses = true, rng.IntN(2) == 0, max(rng.IntN(8)-3, 0)
}

// scrubTime is how long scrubbers take to find and repair one thing, at most: they look every few seconds, and once more after
// ten.
const scrubTime = time.Minute

// checks is the outcome of the checks that were run.
type checks struct {
	// stirred is when something last changed, clean when the newest check began that found nothing.
	stirred, clean time.Time
	// last is the first finding of the last check that found something.
	last string
}

// inspection is the configuration of scrubbers and checks.
func (n *node) inspection() consistency.Config {
	installation := &consistency.Installation{Bus: n, Buckets: n, Streams: streams{n}, Letters: letters{n}}
	if n.world.plan.Executions > 0 {
		installation.Journals = n
	}
	return consistency.Config{
		Installation: installation,
		Names:        n.world.names, Shards: shards, Identity: n.name, Logger: slog.New(&diary{node: n}), Now: n.now,
	}
}

// luck is the source of random numbers of a process.
func (n *node) luck() *rand.Rand {
	return rand.New(rand.NewPCG(n.world.seed, streamScrub<<32+uint64(n.world.started)))
}

// scrubs is the configuration of a scrubber, whose passes follow each other closely.
func (n *node) scrubs() consistency.ScrubberConfig {
	return consistency.ScrubberConfig{Config: n.inspection(), Period: 5 * time.Second, Rand: n.luck()}
}

// checking runs a check with repair again and again.
func (n *node) checking() func(context.Context) {
	luck := n.luck()
	return func(ctx context.Context) {
		for sleep.For(ctx, between(luck, time.Second, 10*time.Second)) == nil && !n.Closed() {
			n.check(ctx)
		}
	}
}

func (n *node) check(ctx context.Context) {
	begin := time.Now()
	checker, err := consistency.New(ctx, n.inspection())
	if err != nil {
		panic(err) // the configuration is ours
	}
	defer checker.Close()
	report, err := checker.Check(ctx, "", true)
	if n.Closed() {
		return
	}
	n.note("checked", func() { n.world.checked(begin, &report, err) })
}

// checked notes what a check has found.
func (w *world) checked(begin time.Time, report *consistency.Report, err error) {
	for i := range report.Findings {
		f := &report.Findings[i]
		w.checks.last = strings.Join([]string{string(f.Kind), f.ScheduleID, f.About, f.What, f.Problem}, " ")
		w.trace.note(time.Now(), "CHECK", fmt.Sprintf("%s repaired %t", w.checks.last, f.Repaired))
		if f.WorkflowID != "" && (f.Kind != consistency.TimerOrphaned || !w.hasStoodStill(begin)) { // nothing is lost where there are executions
			w.broken(f.WorkflowID, "a check has found %s %s: %s", f.Kind, f.About, f.What)
		}
		if f.Repaired {
			w.mended(string(f.Kind))
		}
	}
	if err == nil && len(report.Findings) == 0 {
		w.checks.clean, w.unseen = begin, true
	}
}

// hasStoodStill reports whether a process of history has stood still since a time. It may have armed the deadline of a run before, and have begun the
// run afterwards.
func (w *world) hasStoodStill(since time.Time) bool {
	return slices.ContainsFunc(w.nodes, func(n *node) bool { return n.role == roleHistory && n.suspended.After(since) })
}

// mended counts a repair.
func (w *world) mended(kind string) { w.fault("repaired: " + kind) }

// diary is the log of a scrubber.
type diary struct {
	node  *node
	attrs []slog.Attr
}

func (d *diary) Enabled(context.Context, slog.Level) bool { return true }
func (d *diary) WithGroup(string) slog.Handler            { return d }

func (d *diary) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &diary{node: d.node, attrs: append(d.attrs[:len(d.attrs):len(d.attrs)], attrs...)}
}

func (d *diary) Handle(_ context.Context, r slog.Record) error {
	kind, text := "", r.Message
	add := func(a slog.Attr) bool {
		if a.Key == "kind" {
			kind = a.Value.String()
		}
		text += " " + a.Value.String()
		return true
	}
	for _, a := range d.attrs {
		add(a)
	}
	r.Attrs(add)
	if d.node.Closed() {
		return nil
	}
	d.node.note("log "+text, func() {
		d.node.world.trace.note(time.Now(), d.node.name, text)
		if r.Message == "inconsistency repaired" {
			d.node.world.mended(kind)
		}
	})
	return nil
}

// streams are the streams of JetStream, as a process sees them.
type streams struct{ node *node }

var _ consistency.Streams = streams{}

// Listed implements consistency.Streams.
func (s streams) Listed(ctx context.Context, stream, filter string) ([]string, error) {
	return ask(ctx, s.node, whatKeys, stream+" "+filter, func(time.Time) (listed []string, err error) {
		seen := map[string]bool{}
		for _, m := range s.node.world.server.Messages(stream, filter) {
			if !seen[m.Subject] {
				seen[m.Subject] = true
				listed = append(listed, m.Subject)
			}
		}
		return listed, nil
	})
}

// Floor implements consistency.Streams.
func (s streams) Floor(ctx context.Context, stream, consumer string) (uint64, error) {
	return ask(ctx, s.node, whatBacklog, "floor of "+stream+" "+consumer, func(time.Time) (uint64, error) {
		if !s.node.world.server.HasConsumer(stream, consumer) {
			return 0, errNoConsumer
		}
		return s.node.world.server.Floor(stream, consumer), nil
	})
}

var errNoConsumer = errors.New("simulation: there is no such consumer")

// End implements consistency.Streams.
func (s streams) End(ctx context.Context, _ int, stream string) (uint64, error) {
	return ask(ctx, s.node, whatBacklog, "end of "+stream, func(time.Time) (uint64, error) {
		return s.node.world.server.LastSequence(stream), nil
	})
}

// answer is messages, and whether there are more.
type answer struct {
	found []bus.Message
	rest  bool
}

// Newest implements consistency.Streams. The replica that answers may not have seen the newest messages. The answer has room
// for few messages.
func (s streams) Newest(
	ctx context.Context, _ int, stream string, filters ...string,
) (found []bus.Message, rest bool, err error) {
	a, err := ask(ctx, s.node, whatGet, strings.Join(filters, " "), func(time.Time) (a answer, err error) {
		for _, filter := range filters {
			newest := map[string]int{}
			for _, m := range s.node.world.server.MessagesAt(stream, filter, s.node.world.seen(stream)) {
				if i, again := newest[m.Subject]; again {
					a.found[i] = replicated(&m)
					continue
				}
				newest[m.Subject] = len(a.found)
				a.found = append(a.found, replicated(&m))
			}
		}
		if a.rest = len(a.found) > mostMatching; a.rest {
			a.found = nil
		}
		return a, nil
	})
	return a.found, a.rest, err
}

// Since implements consistency.Streams. The replica that answers may not have seen the newest messages.
func (s streams) Since(
	ctx context.Context, _ int, stream string, after uint64, limit int,
) (found []bus.Message, rest bool, err error) {
	detail := stream + " after " + strconv.FormatUint(after, 10)
	a, err := ask(ctx, s.node, whatGet, detail, func(time.Time) (a answer, err error) {
		for _, m := range s.node.world.server.MessagesAt(stream, ">", s.node.world.seen(stream)) {
			switch {
			case m.Sequence <= after:
			case len(a.found) == limit:
				a.rest = true
			default:
				a.found = append(a.found, replicated(&m))
			}
		}
		return a, nil
	})
	return a.found, a.rest, err
}

// Next implements consistency.Streams.
func (s streams) Next(ctx context.Context, stream, filter string, from uint64) (bus.Message, error) {
	return s.node.Next(ctx, stream, filter, from)
}

func replicated(m *jsmodel.Message) bus.Message {
	return bus.Message{Subject: m.Subject, Sequence: m.Sequence, Header: m.Header, Data: m.Data}
}

// Waiting implements consistency.Streams. The replica that answers may not have seen the newest messages.
func (s streams) Waiting(ctx context.Context, subject string, from, to uint64, visit func(*taskqueue.WaitingRun) error) error {
	stream := s.node.world.names.ActionStream()
	for {
		detail := subject + " from " + strconv.FormatUint(from, 10)
		run, err := ask(ctx, s.node, whatGet, detail, func(time.Time) (*taskqueue.WaitingRun, error) {
			for _, m := range s.node.world.server.MessagesAt(stream, subject, s.node.world.seen(stream)) {
				if m.Sequence >= from {
					return taskqueue.RunOf(m.Sequence, m.Stored, m.Data), nil
				}
			}
			return nil, nil
		})
		if err != nil || run == nil || to > 0 && run.Sequence > to {
			return err
		}
		if err := visit(run); err != nil {
			return err
		}
		from = run.Sequence + 1
	}
}

// RequestWithContext implements consistency.Streams: it asks all processes that have subscribed to the subject and can be
// reached, and the first answer counts.
func (s streams) RequestWithContext(ctx context.Context, subject string, data []byte) (*nats.Msg, error) {
	return s.node.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Data: data})
}

// letters are the dead letters. There are none, or the simulation has found a fault anyway.
type letters struct{ node *node }

var _ consistency.Letters = letters{}

var errLetter = errors.New("simulation: there is a dead letter")

// List implements consistency.Letters.
func (l letters) List(ctx context.Context, _ deadletter.Filter) ([]deadletter.Letter, error) {
	names := l.node.world.names
	return ask(ctx, l.node, whatKeys, names.DeadLetterStream(), func(time.Time) ([]deadletter.Letter, error) {
		for _, stream := range []string{names.DeadLetterStream(), names.WorkerDeadLetterStream()} {
			if len(l.node.world.server.Messages(stream, ">")) > 0 {
				return nil, errLetter
			}
		}
		return nil, nil
	})
}

// Get implements consistency.Letters.
func (l letters) Get(context.Context, deadletter.Number) (deadletter.Message, error) {
	return deadletter.Message{}, errLetter
}

// Replay implements consistency.Letters.
func (l letters) Replay(context.Context, deadletter.Number) (deadletter.Replayed, error) {
	return deadletter.Replayed{}, errLetter
}
