package consistency

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestAwaited: the delayed message that the journal speaks of must be there. Clocks differ by seconds, and a message may be on its way.
func TestAwaited(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	none := time.Time{}
	for name, test := range map[string]struct {
		next, armed time.Time
		comes       []time.Time
		awaited     bool
	}{
		"there is none":                     {at(600), at(600), nil, false},
		"it comes":                          {at(600), at(600), []time.Time{at(600)}, true},
		"one for an earlier deadline comes": {at(3600), at(600), []time.Time{at(600)}, true},
		"it comes a little later":           {at(600), at(600), []time.Time{at(605)}, true},
		"only a later one comes":            {at(600), at(600), []time.Time{at(3600)}, false},
		"only one of an earlier run comes":  {at(600), at(600), []time.Time{at(60)}, false},
		"it has just come":                  {at(-5), at(-5), nil, true},
		"it came, and woke nobody":          {at(-300), at(-300), nil, false},
		"it has not come in time":           {at(-300), at(-300), []time.Time{at(-300)}, false},
		"another comes at once":             {at(-300), at(-300), []time.Time{at(4)}, true},
		"nothing was armed":                 {at(600), none, nil, false},
		"nothing was armed, and one comes":  {at(600), none, []time.Time{at(60)}, true},
	} {
		in := executionInspector{Execution: &Execution{Comes: test.comes, Now: now}}
		assert.Equal(t, test.awaited, in.awaited(test.next, test.armed), name)
	}
}

// TestDeadlineOfAnEntryInWork: until history has done what an entry makes due, the delayed message is on its way, for example because the disk is full.
func TestDeadlineOfAnEntryInWork(t *testing.T) {
	t.Parallel()
	now := time.Now()
	key := schedule.Key{Namespace: "default", ID: "w"}
	decision, err := execution.Decide(&execution.State{Key: execution.Key{Namespace: key.Namespace, WorkflowID: key.ID}}, execution.Start{RunID: "run", Request: &workflowservice.StartWorkflowExecutionRequest{
		WorkflowId: key.ID, WorkflowType: &commonpb.WorkflowType{Name: "T"}, TaskQueue: &taskqueuepb.TaskQueue{Name: "q"},
		WorkflowExecutionTimeout: durationpb.New(time.Hour),
	}}, now)
	require.NoError(t, err)
	x := &Execution{Key: key, State: decision.After, Sequence: 7, Now: now}
	assert.Empty(t, inspectExecution(subjects.Default(), 1, x))
	x.Settled = true
	found := inspectExecution(subjects.Default(), 1, x)
	require.Len(t, found, 1)
	assert.Equal(t, DeadlineMissing, found[0].Kind)
	x.Settled, x.Rebuilt = false, true
	assert.Equal(t, found, inspectExecution(subjects.Default(), 1, x), "what an earlier entry has armed is gone")
}

// TestDeadlineThatHasJustPassed: usually its message is being delivered, but not if the stream was made anew.
func TestDeadlineThatHasJustPassed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	in := executionInspector{Execution: &Execution{Now: now}}
	assert.True(t, in.awaited(now.Add(-time.Second), now.Add(-time.Second)))
	in.Rebuilt = true
	assert.False(t, in.awaited(now.Add(-time.Second), now.Add(-time.Second)))
}

func TestTimeOfTimer(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(time.Hour)
	got, ok := timeOfTimer(subjects.Default().ExecutionTimer(1, schedule.Key{Namespace: "default", ID: "a.b"}, at))
	assert.True(t, ok)
	assert.True(t, at.Equal(got))
	_, ok = timeOfTimer("a.b.!")
	assert.False(t, ok)
}
