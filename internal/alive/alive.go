// Package alive asks the workers of a task queue whether one of them has a run, in the way that docs/worker-protocol.md
// describes: for runs that neither the action stream nor a completion tells of.
package alive

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

// wait is how long a worker may take to answer.
const wait = 2 * time.Second

// Asker sends questions: a *nats.Conn, or one of the simulation.
type Asker interface {
	// RequestWithContext returns the first answer of those who listen on a subject. The error is nats.ErrNoResponders if nobody does,
	// or that of ctx.
	RequestWithContext(ctx context.Context, subject string, data []byte) (*nats.Msg, error)
}

// Ask asks the workers of a task queue for a run. If one of them has it, it returns its answer. That nobody answers is no
// error, and no proof either: a worker may have lost its connection.
func Ask(
	ctx context.Context, asker Asker, names subjects.Names, namespace, queue, runID string,
) (answer schedule.Liveness, has bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	reply, err := asker.RequestWithContext(ctx, names.Alive(namespace, queue, runID), nil)
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
		return answer, false, nil
	case err != nil:
		return answer, false, fmt.Errorf("alive: ask for run %s: %w", runID, err)
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return answer, false, fmt.Errorf("alive: answer about run %s: %w", runID, err)
	}
	return answer, answer.RunID == runID, nil
}
