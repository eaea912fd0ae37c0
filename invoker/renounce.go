package invoker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// errRepeated: the action stream already had a message with the ID of a start.
var errRepeated = errors.New("invoker: the action stream has had a message of this ID")

// renounce makes sure that nobody can start any more what a report gives up. Another process may have the same ready start and be about to
// publish it. So renounce publishes another message with the message ID of the start, which no worker gets. The action stream accepts only
// one message of an ID: this one or the run.
//
// If the run came first, the report says so. If nobody can tell, the start counts as failed and is tried again.
func (s *session) renounce(ctx context.Context, start *wire.BufferedStart, report *StartReport) {
	if start.ActionKind.IsWorkflow() {
		s.renounceWorkflow(ctx, start, report)
		return
	}
	repeated, err := s.useUp(ctx, start)
	switch {
	case err != nil:
		report.Result, report.Reason = Failed, err.Error()
	case repeated:
		if result, reason := s.repeated(ctx, s.key, start); result != Refused {
			report.Result, report.Reason = result, reason
		}
	case report.Result == Failed:
		report.Result, report.Reason = Refused, reasonStartFailed+report.Reason
	}
}

// useUp stores a message with the ID of a start in the action stream, where no worker takes it: as the anchor, which the next one replaces.
// It reports whether the stream already had a message of that ID.
func (p *Pool) useUp(ctx context.Context, start *wire.BufferedStart) (repeated bool, err error) {
	return p.config.Bus.PublishOnce(ctx, &nats.Msg{
		Subject: p.config.Names.ActionAnchor(),
		Header: nats.Header{
			nats.MsgIdHdr:       {start.RequestID},
			jetstream.MsgRollup: {jetstream.MsgRollupSubject},
		},
	})
}

// repeated finds out what used up the message ID of a start. If it was the run, the run is in the queue, its completion waits, or the
// record has it. In the last case, this process's copy of the record is outdated, and its report is not recorded. Otherwise, somebody has
// renounced the start.
func (p *Pool) repeated(ctx context.Context, key schedule.Key, start *wire.BufferedStart) (Result, string) {
	switch result, known, err := p.look(ctx, key, start); {
	case err != nil:
		return Failed, err.Error()
	case known:
		return result, ""
	}
	return Refused, "given up before, by a process that has not recorded why"
}

// remembered makes sure that the action stream still remembers message IDs that were used up since a time. What is given up must be
// recorded before the stream forgets: another process may have read the old record and try the start again.
func (p *Pool) remembered(since time.Time) error {
	if p.wallClock().Sub(since) > subjects.DuplicateWindow/2 {
		return fmt.Errorf("%w: invoker: given up too long ago", kv.ErrConflict)
	}
	return nil
}

// comeFirst uses up the message ID of a start, and reports whether its run came first. If the run was terminated, it has left the queue
// without a completion. In that case no renunciation can have used up the ID: a start that is to be terminated is never renounced.
func (p *Pool) comeFirst(ctx context.Context, key schedule.Key, start *wire.BufferedStart) (bool, error) {
	if start.ActionKind.IsWorkflow() {
		return false, p.fence(ctx, key, controlOf(start, schedule.ControlTerminate))
	}
	repeated, err := p.useUp(ctx, start)
	if err != nil || !repeated || start.Ending == schedule.ControlTerminate {
		return repeated, err
	}
	_, known, err := p.look(ctx, key, start)
	return known, err
}

// taken finds out which of the ready starts have begun, and renounces the others.
func (p *Pool) taken(ctx context.Context, key schedule.Key, starts []wire.BufferedStart) (map[string]bool, error) {
	var mu sync.Mutex
	taken := map[string]bool{}
	var group errgroup.Group
	group.SetLimit(startsAtOnce)
	for i := range starts {
		if starts[i].Phase != schedule.PhaseReady {
			continue
		}
		group.Go(func() error {
			_, known, err := p.look(ctx, key, &starts[i])
			if err != nil {
				return err
			}
			if !known {
				if known, err = p.comeFirst(ctx, key, &starts[i]); err != nil {
					return err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			taken[starts[i].RequestID] = known
			return nil
		})
	}
	return taken, group.Wait()
}
