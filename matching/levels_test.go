package matching

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestLevels: a priority is asked as long as it may have tasks, the usual one always; less urgent tasks wait while more urgent ones look for a poll.
func TestLevels(t *testing.T) {
	t.Parallel()
	l := &levels{}
	assert.Equal(t, []int{3}, l.candidates())
	l.expect(5)
	l.expect(1)
	assert.Equal(t, []int{1, 3, 5}, l.candidates())
	for range asks {
		l.asked(1, 1)
		l.asked(5, 0)
	}
	assert.Equal(t, []int{1, 3}, l.candidates())
	for range 2 * asks {
		l.asked(1, 0)
		l.asked(3, 0)
	}
	assert.Equal(t, []int{3}, l.candidates())

	assert.Nil(t, l.behind(5))
	l.look(t.Context(), 3)
	l.look(t.Context(), 3)
	assert.Nil(t, l.behind(3))
	behind := l.behind(5)
	l.found(3)
	select {
	case <-behind:
		assert.Fail(t, "one still looks")
	default:
	}
	l.found(3)
	<-behind
	assert.Nil(t, l.behind(5))
}

// TestFetchedBesideAHint: less urgent tasks that were being fetched when the hint came give way once the urgent task looks for a poll.
func TestFetchedBesideAHint(t *testing.T) {
	t.Parallel()
	l := &levels{}
	l.expect(1)
	fetched := l.look(t.Context(), 5)
	assert.NoError(t, fetched.Err())
	urgent := l.look(t.Context(), 1)
	assert.Error(t, fetched.Err())
	assert.NoError(t, urgent.Err())
	l.end()
}

// TestLessUrgentTasksGiveWay: those that look for a poll, and not those that come later.
func TestLessUrgentTasksGiveWay(t *testing.T) {
	t.Parallel()
	l := &levels{}
	first, usual, last := l.look(t.Context(), 1), l.look(t.Context(), 3), l.look(t.Context(), 5)
	behind := l.behind(5)
	l.expect(3)
	<-behind
	assert.NoError(t, first.Err())
	assert.NoError(t, usual.Err())
	assert.Error(t, last.Err())
	again := l.look(t.Context(), 5)
	assert.NoError(t, again.Err())
	l.end()
	assert.Error(t, first.Err())
	assert.Error(t, again.Err())
}
