package taskqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// askWait bounds a request to NATS: while a stream has no leader, nobody answers.
const askWait = 5 * time.Second

// firstRun returns the first run on a subject from a sequence on, or nil if there is none, and how many there are. The subject
// may have wildcards. It asks for a batch of one, because only with a batch does the server say how many follow.
func firstRun(
	ctx context.Context, js jetstream.JetStream, names subjects.Names, subject string, from uint64,
) (*WaitingRun, int, error) {
	request := map[string]any{"seq": from, "batch": 1, "next_by_subj": subject}
	reply, err := ask(ctx, js, "DIRECT.GET."+names.ActionStream(), request)
	if err != nil {
		return nil, 0, err
	}
	switch status := reply.Header.Get("Status"); status {
	case "":
	case "404":
		return nil, 0, nil
	default:
		return nil, 0, fmt.Errorf("taskqueue: read %s: %s %s", subject, status, reply.Header.Get("Description"))
	}
	run, err := waitingRun(reply)
	if err != nil {
		return nil, 0, fmt.Errorf("taskqueue: read %s: %w", subject, err)
	}
	more, err := strconv.Atoi(reply.Header.Get("Nats-Num-Pending"))
	if err != nil {
		return nil, 0, fmt.Errorf("taskqueue: read %s: %w", subject, err)
	}
	return run, more + 1, nil
}

// waitingRun reads a stored request. A request that nobody can read waits all the same.
func waitingRun(msg *nats.Msg) (*WaitingRun, error) {
	sequence, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return nil, err
	}
	since, err := time.Parse(time.RFC3339Nano, msg.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return nil, err
	}
	return RunOf(sequence, since, msg.Data), nil
}

// RunOf returns the run whose request is stored at a sequence since a time. If the request cannot be read, not even by a worker,
// the run has no names.
func RunOf(sequence uint64, since time.Time, data []byte) *WaitingRun {
	run := &WaitingRun{Sequence: sequence, Since: since}
	var request schedule.ActionRequest
	if json.Unmarshal(data, &request) == nil {
		run.Key = schedule.Key{Namespace: request.Namespace, ID: request.ScheduleID}
		run.RequestID, run.WorkflowID, run.RunID = request.RequestID, request.WorkflowID, request.RunID
		run.TaskQueue, run.Type = request.TaskQueue, request.Type
		run.Nominal, run.Actual = request.NominalTime, request.DueTime
	}
	return run
}

// ask sends a request to the JetStream API.
func ask(ctx context.Context, js jetstream.JetStream, verb string, request any) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	reply, err := bus.Ask(ctx, js, verb, request)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("taskqueue: %s: no answer within %s: %w", verb, askWait, err)
	}
	if err != nil {
		return nil, fmt.Errorf("taskqueue: %s: %w", verb, err)
	}
	return reply, nil
}

// Each visits the runs on a subject in order of their sequences, from one sequence to another, both inclusive; to 0 means to the
// end. The subject may have wildcards. It returns the first error, of visit or of NATS.
func Each(
	ctx context.Context, js jetstream.JetStream, names subjects.Names, subject string, from, to uint64,
	visit func(*WaitingRun) error,
) error {
	for {
		run, _, err := firstRun(ctx, js, names, subject, max(from, 1))
		if err != nil || run == nil || to > 0 && run.Sequence > to {
			return err
		}
		if err := visit(run); err != nil {
			return err
		}
		from = run.Sequence + 1
	}
}

// Found is a task queue and its status.
type Found struct {
	Queue
	Status
}

// All looks at every task queue that has runs or had workers, in order of their names. Its errors are those of NATS.
func All(ctx context.Context, js jetstream.JetStream, names subjects.Names) ([]Found, error) {
	all := survey{js: js, names: names, strays: map[Queue]struct{}{}}
	seen, err := all.run(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]Found, len(seen))
	for i := range seen {
		found[i] = Found{Queue: seen[i].Queue, Status: seen[i].Status}
	}
	return found, nil
}
