package worker

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
)

// The progress stream keeps what heartbeats record for the next attempt of a run, on any worker. It is stored when an attempt ends that is
// not the last, and now and then during an attempt, in case the worker dies. It is a help and no promise: without it, the next attempt
// starts from the beginning. So nothing waits for it for long.

const (
	progressTime = 2 * time.Second
	// progressRest is how long a worker does without the progress stream after NATS did not answer. A missing permission has the same
	// effect, and must not cost each attempt the wait.
	progressRest = time.Minute
)

// progress are the details of the heartbeats of a run. Its methods are methods of held, which guards it.
type progress struct {
	details json.RawMessage
	// changes counts the recorded details; stored is the count that NATS has.
	changes, stored int
}

// setDetails records the details of a heartbeat.
func (h *held) setDetails(details json.RawMessage) {
	h.stateMu.Lock()
	defer h.stateMu.Unlock()
	h.progress.details = details
	h.progress.changes++
}

// lastDetails returns the last details that this attempt recorded.
func (h *held) lastDetails() json.RawMessage {
	h.stateMu.Lock()
	defer h.stateMu.Unlock()
	return h.progress.details
}

// progressMessage returns the message to store, nil if NATS has it already, and a function to call once it is stored.
func (w *Worker) progressMessage(h *held) (message *nats.Msg, stored func()) {
	h.stateMu.Lock()
	defer h.stateMu.Unlock()
	p := h.progress
	if p.changes == p.stored {
		return nil, nil
	}
	data, err := json.Marshal(schedule.Progress{RunID: h.request.RunID, Attempt: h.delivery, Details: p.details})
	if err != nil {
		return nil, nil // cannot happen: the details are encoded JSON
	}
	message = nats.NewMsg(w.names.Progress(h.request.Namespace, h.request.TaskQueue, h.request.WorkflowID))
	message.Data = data
	return message, func() {
		h.stateMu.Lock()
		defer h.stateMu.Unlock()
		h.progress.stored = p.changes
	}
}

// storeProgress stores what runs have recorded since the last time.
func (w *Worker) storeProgress(ctx context.Context, runs ...*held) {
	var messages []*nats.Msg
	var stored []func()
	for _, h := range runs {
		if message, then := w.progressMessage(h); message != nil {
			messages, stored = append(messages, message), append(stored, then)
		}
	}
	if len(messages) == 0 || !w.progressWorks() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, progressTime)
	defer cancel()
	if err := w.bus.PublishAll(ctx, messages); err != nil {
		w.progressFailed("stored", err)
		return
	}
	for _, then := range stored {
		then()
	}
}

// keepProgress stores what runs record during their attempts, until ctx is done.
func (w *Worker) keepProgress(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.storeProgress(ctx, w.held.all()...)
		}
	}
}

// findProgress looks for what earlier attempts of a run recorded.
func (w *Worker) findProgress(ctx context.Context, h *held) {
	if h.delivery < 2 || !w.progressWorks() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, progressTime)
	defer cancel()
	subject := w.names.Progress(h.request.Namespace, h.request.TaskQueue, h.request.WorkflowID)
	data, err := w.bus.Last(ctx, w.names.ProgressStream(), subject)
	if err != nil {
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			w.progressFailed("read", err)
		}
		return
	}
	var found schedule.Progress
	if json.Unmarshal(data, &found) == nil && found.RunID == h.request.RunID {
		h.previous = found.Details
	}
}

func (w *Worker) progressWorks() bool {
	return w.bus.Connected() && w.now().UnixNano() >= w.progressFrom.Load()
}

func (w *Worker) progressFailed(what string, err error) {
	w.progressFrom.Store(w.now().Add(progressRest).UnixNano())
	w.log.Warn("heartbeat details cannot be "+what+", attempts go on without for a while; may the worker use their subject?",
		keyError, err)
}
