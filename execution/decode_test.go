package execution

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
)

// FuzzParseToken: what a client sends as a token is a token or an error, and a token comes back as it was.
func FuzzParseToken(f *testing.F) {
	f.Add(Token{"default", "w", "run", 5, 6, 2, 1, noon}.Marshal())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		token, err := ParseToken(data)
		if err != nil {
			require.ErrorContains(t, err, "token")
			return
		}
		again, err := ParseToken(token.Marshal())
		require.NoError(t, err)
		require.True(t, token.StartedTime.Equal(again.StartedTime))
		again.StartedTime = token.StartedTime
		require.Equal(t, token, again)
	})
}

// FuzzApply: whatever a journal holds, reading it ends with a state or an error.
func FuzzApply(f *testing.F) {
	s := newStory(f)
	decision, err := Decide(s.state, s.startInput("start", func(string) string { return "" }), noon)
	require.NoError(f, err)
	data, err := decision.Entry.Marshal()
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		entry, err := ParseEntry(data)
		if err != nil {
			return
		}
		state := &State{Key: Key{"default", "w"}}
		if state.Apply(entry, 1) != nil || state.Run == nil {
			return
		}
		state.NextDeadline()
		state.Waiting()
		state.Suffix()
		Describe(state)
		_, _ = Decide(state, TimerDue{}, noon.Add(time.Hour))
	})
}

// TestApplyRefusesWhatDoesNotFollow: a journal with a gap is not taken for a state.
func TestApplyRefusesWhatDoesNotFollow(t *testing.T) {
	t.Parallel()
	state := &State{Key: Key{"default", "w"}}
	require.ErrorContains(t, state.Apply(&Entry{Parts: []Part{{RunID: "other", First: 7}}}, 8), "not the newest")
	gap := &Entry{Parts: []Part{{RunID: "run", Events: []*historypb.HistoryEvent{{EventId: 2}}}}}
	require.ErrorContains(t, state.Apply(gap, 8), "event 2 follows on 0")
	taken := &Entry{Parts: []Part{{RunID: "run", TakenBack: []int32{0}}}}
	require.ErrorContains(t, state.Apply(taken, 8), "taken back")
}
