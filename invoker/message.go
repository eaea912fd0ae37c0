package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Message is a message to the invoker. Exactly one of its fields is set.
type Message struct {
	Wake       *wire.Wake
	Enqueue    *wire.Enqueue
	Completion *schedule.Completion
	End        *wire.EndRun
}

// Decode implements loop.Handler. A message that this release does not know is an error and so becomes a dead letter: a later release may
// have sent it.
func (p *Pool) Decode(task subjects.Task, msg jetstream.Msg) (Message, error) {
	switch {
	case task.IsCompletion():
		completion, err := decodeCompletion(task.What, msg.Data())
		if err != nil {
			return Message{}, err
		}
		completion.TaskQueue = task.Queue // empty for a timeout, which does not come from a worker
		return Message{Completion: completion}, nil
	case task.IsWake():
		var wake wire.Wake
		err := codec.Unmarshal(msg.Data(), &wake)
		return Message{Wake: &wake}, err
	case task.IsEnd():
		var end wire.EndRun
		err := codec.Unmarshal(msg.Data(), &end)
		return Message{End: &end}, err
	case task.IsHandOff():
		var enqueue wire.Enqueue
		if err := codec.Unmarshal(msg.Data(), &enqueue); err != nil {
			return Message{}, err
		}
		if task.IsHandOffOf(enqueue.Source, enqueue.Span) {
			return Message{Enqueue: &enqueue}, nil
		}
	}
	return Message{}, fmt.Errorf("invoker: this release knows no message %q of role %q", task.What, task.Role)
}

// Bounds of a completion. It goes into records and into the request of the next run, and the worker may be anybody's program.
const (
	maxResult         = 512 << 10 // docs/semantics.md §10
	maxFailureDetails = 64 << 10
	maxFailureMessage = 4 << 10
	maxName           = 255
)

// decodeCompletion reads what a worker has sent. The request ID comes from the subject, which permissions can restrict. A result that is
// too large fails the run, since the run must not stay open forever.
func decodeCompletion(requestID string, data []byte) (*schedule.Completion, error) {
	var c schedule.Completion
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("completion is not valid JSON: %w", err)
	}
	if c.RequestID != requestID {
		return nil, fmt.Errorf("completion is for request %q, its subject for %q", c.RequestID, requestID)
	}
	if !c.Status.Valid() {
		return nil, fmt.Errorf("completion has status %q, must be completed, failed, canceled, terminated or timed_out", c.Status)
	}
	if len(c.Result) > maxResult {
		c.Status, c.Failure = schedule.StatusFailed, &schedule.Failure{
			Type:    "result_too_large",
			Message: fmt.Sprintf("result has %d bytes, at most %d are kept: store it elsewhere and return a reference", len(c.Result), maxResult),
		}
		c.Result = nil
	}
	c.Worker = shorten(c.Worker, maxName)
	if c.Failure != nil {
		c.Failure.Type = shorten(c.Failure.Type, maxName)
		c.Failure.Message = shorten(c.Failure.Message, maxFailureMessage)
		if len(c.Failure.Details) > maxFailureDetails {
			c.Failure.Details = nil
		}
	}
	return &c, nil
}

// shorten cuts a text to a number of bytes.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// versions returns what the messages say about the definition that they were made from.
func versions(group []loop.Message[Message]) []wire.Wake {
	var wakes []wire.Wake
	for i := range group {
		switch body := group[i].Body; {
		case body.Wake != nil:
			wakes = append(wakes, *body.Wake)
		case body.Enqueue != nil:
			wakes = append(wakes, wire.Wake{Incarnation: body.Enqueue.Incarnation, Version: body.Enqueue.Version})
		case body.End != nil:
			wakes = append(wakes, wire.Wake{Incarnation: body.End.Incarnation, Version: body.End.Version})
		}
	}
	return wakes
}

// input sorts the messages of a group. Messages that were held have already been applied.
func (p *Pool) input(ctx context.Context, key schedule.Key, group []loop.Message[Message], state *wire.InvokerState) (Input, error) {
	var in Input
	looked := false
	for i := range group {
		body := group[i].Body
		switch {
		case group[i].Held:
		case body.Completion != nil:
			in.Completions = append(in.Completions, *body.Completion)
		case body.End != nil && isStray(body.End, state): // it concerns no start of the record
		case body.End != nil:
			in.Ends = append(in.Ends, *body.End)
		case body.Enqueue != nil:
			known, err := p.sourceKnown(ctx, key, body.Enqueue.Source, state, &in)
			if err != nil {
				return Input{}, err
			}
			if known {
				cause := causeOf(ctx, group[i].Header)
				in.Enqueues = append(in.Enqueues, Traced[wire.Enqueue]{Body: *body.Enqueue, Trace: cause})
			}
		case !looked:
			// Any wake will do: another wake may have replaced the one that says that a backfill is over or canceled.
			looked = true
			if err := p.lookAtSources(ctx, key, state, &in); err != nil {
				return Input{}, err
			}
		}
	}
	return in, nil
}

// sourceKnown reports whether a hand-off may still count. The record of a backfill stays until all its hand-offs have arrived here. So if a
// source has no record and the state does not know it, the source is over, and the hand-off is a late repeat. A new source that is already
// canceled is added to the withdrawn ones.
func (p *Pool) sourceKnown(
	ctx context.Context, key schedule.Key, source string, state *wire.InvokerState, in *Input,
) (bool, error) {
	if _, known := state.Sources[source]; known || source == schedule.SourceAuto {
		return true, nil
	}
	record, err := kv.GetLeader(ctx, p.config.Store, kv.Backfill(key, source))
	if errors.Is(err, kv.ErrNotFound) {
		p.config.Logger.DebugContext(ctx, "hand-off of a finished backfill ignored", "namespace", key.Namespace,
			"schedule_id", key.ID, "source", source)
		return false, nil
	}
	if err == nil && record.Value.Canceled {
		in.Withdrawn = append(in.Withdrawn, source)
	}
	return err == nil, err
}

// lookAtSources finds the known sources whose backfill is over or canceled. There may be a hundred.
func (p *Pool) lookAtSources(ctx context.Context, key schedule.Key, state *wire.InvokerState, in *Input) error {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(startsAtOnce)
	for source := range state.Sources {
		if source == schedule.SourceAuto {
			continue
		}
		group.Go(func() error {
			record, err := kv.GetLeader(ctx, p.config.Store, kv.Backfill(key, source))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, kv.ErrNotFound):
				in.Finished = append(in.Finished, source)
			case err != nil:
				return err
			case record.Value.Canceled:
				in.Withdrawn = append(in.Withdrawn, source)
			}
			return nil
		})
	}
	err := group.Wait()
	// The order must not depend on the replies: a repeat of the transition gives the same events.
	slices.Sort(in.Finished)
	slices.Sort(in.Withdrawn)
	return err
}
