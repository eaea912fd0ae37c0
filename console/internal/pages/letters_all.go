package pages

import (
	"context"
	"net/http"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/schedule"
)

// letterSweep is the page that asks whether all letters of a filter are meant, and then says what came of it.
type letterSweep struct {
	letterChoice
	// Do is "replay" or "delete".
	Do string
	// Count is how many letters are meant, and Unproven how many of them are not replayed together.
	Count, Unproven int
	// Newest and NewestOfWorkers are the last sequences that were seen: what arrives later is not meant.
	Newest, NewestOfWorkers uint64
	// Back is the address of the list.
	Back string
	// IsOver says that it has been done: Done letters. Failures are those that stay, of Failed, and Left were not looked at.
	IsOver             bool
	Done, Failed, Left int
	Failures           []fact
}

// confirmLetters asks whether all letters that a filter chooses are meant.
func (p *Pages) confirmLetters(r *http.Request, asks *speaker.Speaker, reader *deadletter.Reader) (*answer, error) {
	sweep, err := sweepOf(r, asks)
	if err != nil {
		return nil, err
	}
	found, err := sweep.list(r.Context(), reader, asks.Namespace())
	if err != nil {
		return nil, err
	}
	for i := range found {
		number := found[i].Number
		if number.Worker {
			sweep.NewestOfWorkers = max(sweep.NewestOfWorkers, number.Sequence)
		} else {
			sweep.Newest = max(sweep.Newest, number.Sequence)
		}
	}
	sweep.Count, sweep.Unproven = sweep.count(found)
	return sweep.page(), nil
}

// sweepOf reads what is asked for.
func sweepOf(r *http.Request, asks *speaker.Speaker) (*letterSweep, error) {
	sweep := &letterSweep{letterChoice: choiceOf(r), Do: r.FormValue("do")}
	if sweep.Do != "replay" && sweep.Do != "delete" {
		return nil, schedule.Invalid("do", "%q is neither replay nor delete", sweep.Do)
	}
	sweep.Back = address(asks.Namespace(), "dead-letters") + sweep.query()
	return sweep, nil
}

func (s *letterSweep) page() *answer {
	title := map[string]string{"replay": "Replay dead letters", "delete": "Delete dead letters"}[s.Do]
	return &answer{view: "letters-all", title: title, data: s}
}

// count returns how many letters are handled, and how many are left out because any worker may have written them.
func (s *letterSweep) count(letters []deadletter.Letter) (meant, unproven int) {
	for i := range letters {
		if s.Do == "replay" && letters[i].Unproven {
			unproven++
		}
	}
	return len(letters) - unproven, unproven
}

// isMeant reports whether a letter is one of those that somebody has confirmed.
func (s *letterSweep) isMeant(l *deadletter.Letter) bool {
	if s.Do == "replay" && l.Unproven {
		return false
	}
	if l.Number.Worker {
		return l.Number.Sequence <= s.NewestOfWorkers
	}
	return l.Number.Sequence <= s.Newest
}

// handleLetters replays or deletes the letters that somebody has confirmed, the oldest first, and goes on when one fails.
func (p *Pages) handleLetters(r *http.Request, asks *speaker.Speaker, reader *deadletter.Reader) (*answer, error) {
	sweep, err := sweepOf(r, asks)
	if err != nil {
		return nil, err
	}
	for name, to := range map[string]*uint64{"newest": &sweep.Newest, "newestOfWorkers": &sweep.NewestOfWorkers} {
		if *to, err = hiddenNumber(name, r.PostFormValue(name)); err != nil {
			return nil, err
		}
	}
	found, err := sweep.list(r.Context(), reader, asks.Namespace())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), lettersTime)
	defer cancel()
	sweep.IsOver = true
	for i := len(found) - 1; i >= 0; i-- {
		switch {
		case !sweep.isMeant(&found[i]):
		case sweep.Done+sweep.Failed == lettersAtOnce || ctx.Err() != nil:
			sweep.Left++
		default:
			sweep.handle(ctx, reader, found[i].Number)
		}
	}
	p.forget()
	p.facts.forget()
	return sweep.page(), nil
}

// handle replays or deletes one letter.
func (s *letterSweep) handle(ctx context.Context, reader *deadletter.Reader, number deadletter.Number) {
	do := reader.Delete
	if s.Do == "replay" {
		do = func(ctx context.Context, number deadletter.Number) error {
			_, err := reader.Replay(ctx, number)
			return err
		}
	}
	switch failed := do(ctx, number); {
	case failed == nil:
		s.Done++
	case schedule.CodeOf(failed) == schedule.CodeNotFound: // somebody else was faster
	default:
		s.Failed++
		if len(s.Failures) < failuresShown {
			s.Failures = append(s.Failures, fact{number.String(), lineOf(ofNATS(failed))})
		}
	}
}
