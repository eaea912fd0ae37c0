package execution

import (
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestRefusedChild: an entry says that a child could not be started, whether its parent can be told at once, or a workflow task is in the way.
func TestRefusedChild(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"at rest": false, "busy": true} {
		s := newStory(t)
		s.do(t, &datadriven.TestData{Cmd: "start"})
		s.do(t, &datadriven.TestData{Cmd: "poll"})
		s.do(t, &datadriven.TestData{Cmd: "complete", Input: "child id=c\n"})
		if busy {
			s.do(t, &datadriven.TestData{Cmd: "signal", CmdArgs: []datadriven.CmdArg{{Key: "name", Vals: []string{"s"}}}})
			s.do(t, &datadriven.TestData{Cmd: "poll"})
		}
		parent := Parent{WorkflowID: "w", RunID: s.state.Run.ID, Event: 5}
		decision, err := Decide(s.state, ChildNotStarted{Parent: parent}, s.now)
		require.NoError(t, err, name)
		require.Equal(t, busy, len(decision.Entry.Parts[0].Buffer) > 0, name)
		require.True(t, decision.After.RefusesChild(decision.Entry, parent), name)
		parent.Event = 6
		require.False(t, decision.After.RefusesChild(decision.Entry, parent), name)
	}
}
