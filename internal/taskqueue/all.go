package taskqueue

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

// Found is a task queue and how it is.
type Found struct {
	Queue
	Status
}

// All looks at every task queue that has runs or had workers, in order of their names. The errors are those of NATS.
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
