package schedules

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/suggest"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// typesWait is how long the workers of a task queue may take to say which action types they have. Only a type that none of
	// them has takes that long.
	typesWait = 200 * time.Millisecond
	// typesKept is for how many action types of task queues the answer is remembered.
	typesKept = 4096
	// typeKnown is how long an answer is remembered if a worker has the type, or if nobody who hears the question answers.
	// typeUnknown is the same for a type that no worker has: whoever starts such a worker wants to see that it helps.
	typeKnown   = time.Minute
	typeUnknown = time.Second
	// typesNamed is how many types a warning names at most.
	typesNamed = 10
)

// actionType is a type of action on a task queue.
type actionType struct{ namespace, queue, name string }

// typesSeen finds out whether the workers of a task queue have an action type. It is safe for concurrent use.
type typesSeen struct {
	ask  func(context.Context, actionType) (taskqueue.Types, error)
	now  func() time.Time
	kept *lru.Cache[actionType, typeSeen]
}

// typeSeen is what the workers have said about a type, and until when that holds.
type typeSeen struct {
	warning string
	until   time.Time
}

func newTypesSeen(now func() time.Time, ask func(context.Context, actionType) (taskqueue.Types, error)) *typesSeen {
	kept, err := lru.New[actionType, typeSeen](typesKept)
	if err != nil {
		panic("frontend: " + err.Error()) // only for a size below 1
	}
	return &typesSeen{ask: ask, now: now, kept: kept}
}

// warning returns the warning about a type; empty if a worker has it, or if none has answered. It takes no longer than
// [typesWait], and no more than half of the time that ctx leaves.
func (s *typesSeen) warning(ctx context.Context, of actionType) string {
	now := s.now()
	if seen, ok := s.kept.Get(of); ok && now.Before(seen.until) {
		return seen.warning
	}
	wait := typesWait
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	asking, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	types, err := s.ask(asking, of)
	if err != nil || ctx.Err() != nil {
		return "" // asking again tells more
	}
	seen := typeSeen{warning: typeWarning(of, &types), until: now.Add(typeUnknown)}
	if silent := types.Workers == 0 && asking.Err() != nil; silent || types.Has(of.name) {
		seen.until = now.Add(typeKnown)
	}
	s.kept.Add(of, seen)
	return seen.warning
}

// typeWarning says that no worker has a type, and which one may have been meant. If no worker has answered it says nothing,
// because a schedule may be created before its worker runs.
func typeWarning(of actionType, types *taskqueue.Types) string {
	if types.Workers == 0 || types.Has(of.name) {
		return ""
	}
	text := fmt.Sprintf("no worker of the task queue %q that answered knows the action type %q", of.queue, of.name)
	if meant := suggest.Nearest(of.name, types.Names); meant != "" {
		return text + fmt.Sprintf(": did you mean %q?", meant)
	}
	if len(types.Names) == 0 {
		return text
	}
	named := types.Names[:min(len(types.Names), typesNamed)]
	text += ": known are " + strings.Join(named, ", ")
	if more := len(types.Names) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// withTypeWarning carries out a request that stores an action, and meanwhile asks the workers whether they have its type. Their
// answer becomes a warning in the reply. If they cannot be asked, nothing changes.
func (s *Service) withTypeWarning(
	ctx context.Context, namespace string, action *schedule.Action, do func() (schedule.Description, error),
) (schedule.Description, error) {
	if s.types == nil || action.Kind.IsWorkflow() {
		return do() // a simulation has no workers to ask, and workers of workflows do not say what they have
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	var warning string
	var answered sync.WaitGroup
	answered.Go(func() { warning = s.types.warning(asking, actionType{namespace, action.TaskQueue, action.Type}) })
	description, err := do()
	if err != nil {
		cancel()
	}
	answered.Wait()
	if err == nil && warning != "" {
		description.Info.Warnings = append(description.Info.Warnings, schedule.Notice{
			Code: schedule.NoticeUnknownType, Message: request.OneLine(warning),
		})
	}
	return description, err
}
