package consistency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// answerWait is how long a worker may take to answer.
const answerWait = 2 * time.Second

// WorkerAsker sends questions to workers. It is a *nats.Conn, or the network of the simulation.
type WorkerAsker interface {
	// RequestWithContext returns the first answer of the listeners on a subject. The error is nats.ErrNoResponders if there are
	// none, or the error of ctx.
	RequestWithContext(ctx context.Context, subject string, data []byte) (*nats.Msg, error)
}

// AskWorkers asks the workers of a task queue whether one of them has a run (docs/worker-protocol.md). It is for runs that
// neither the action stream nor a completion knows. It returns the answer of the worker that has the run. No answer is not an
// error and proves nothing, because a worker may have lost its connection.
func AskWorkers(
	ctx context.Context, asker WorkerAsker, names subjects.Names, namespace, queue, runID string,
) (answer schedule.Liveness, has bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := asker.RequestWithContext(ctx, names.Alive(namespace, queue, runID), nil)
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
		return answer, false, nil
	case err != nil:
		return answer, false, fmt.Errorf("consistency: ask for run %s: %w", runID, err)
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return answer, false, fmt.Errorf("consistency: answer about run %s: %w", runID, err)
	}
	return answer, answer.RunID == runID, nil
}
