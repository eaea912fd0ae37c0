package taskqueue

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The bounds of what is kept of answers about action types. A worker beyond them counts as one that may know any type.
const (
	maxTypes       = 10 * schedule.MaxActionTypes
	maxTypesAnswer = 4 * schedule.MaxActionTypesBytes
)

// Types has the action types of the workers of a task queue, as far as they have answered.
type Types struct {
	// Workers counts the answers.
	Workers int
	// Names are sorted, each once.
	Names []string
	// Others means that a worker also accepts types that are not in Names.
	Others bool
}

// Has reports whether one of the workers accepts a type, or may accept it.
func (t *Types) Has(actionType string) bool {
	_, found := slices.BinarySearch(t.Names, actionType)
	return found || t.Others
}

// AskTypes asks the workers of a task queue for their action types. It ends when one of them has the given type, when ctx ends,
// or when NATS says that no worker listens. Workers of earlier releases, which do not know the question, do not answer.
func AskTypes(
	ctx context.Context, conn *nats.Conn, names subjects.Names, namespace, queue, actionType string,
) (Types, error) {
	ctx, found := context.WithCancel(ctx)
	defer found()
	var types Types
	err := presence.Ask(ctx, bus.Plain{Conn: conn}, names.ActionTypes(namespace, queue), func(data []byte) {
		types.add(data)
		if types.Has(actionType) {
			found()
		}
	})
	return types, err
}

// add processes one answer. A message that is no answer does not count.
func (t *Types) add(data []byte) {
	if len(data) > maxTypesAnswer {
		t.Workers, t.Others = t.Workers+1, true
		return
	}
	var answer schedule.ActionTypes
	if json.Unmarshal(data, &answer) != nil || answer.Types == nil {
		return
	}
	t.Workers++
	t.Others = t.Others || answer.Others
	for _, name := range answer.Types {
		at, found := slices.BinarySearch(t.Names, name)
		switch {
		case found || schedule.ValidateID("types", name) != nil:
		case len(t.Names) == maxTypes:
			t.Others = true
		default:
			t.Names = slices.Insert(t.Names, at, name)
		}
	}
}
