package pages

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
)

// bodyShown is how many bytes of the body of a letter the page shows.
const bodyShown = 16 << 10

// letterOne is the page of one dead letter.
type letterOne struct {
	letterRow
	// Subject, Stream and Sequence are where the message was, and Doubt is why that may not be so.
	Subject, Stream, Doubt string
	Sequence               uint64
	// Cannot is why the message cannot be sent again; empty if it can.
	Cannot  string
	Headers []fact
	// Body is the body for people, in the format Format, without the last Left bytes.
	Body, Format string
	Left         int
}

// letter shows one dead letter.
func (p *Pages) letter(r *http.Request, asks *speaker.Speaker, reader *deadletter.Reader) (*answer, error) {
	number, err := deadletter.ParseNumber(r.PathValue("number"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), lettersTime)
	defer cancel()
	m, err := reader.Get(ctx, number)
	if err != nil {
		return nil, ofNATS(err)
	}
	one := &letterOne{
		letterRow: letterOf(&m.Letter, asks.Namespace(), p.config.Now()), Subject: m.Origin.Subject, Stream: m.Origin.Stream, Sequence: m.Origin.Sequence,
		Format: m.Body.Format,
	}
	switch {
	case m.Foreign:
		one.Doubt, one.Cannot = "which cannot be: the letter is forged", "it is forged"
	case m.Unproven && m.Origin.Subject != "":
		one.Doubt = "as it says: any worker may have written it"
	}
	if m.Cut {
		one.Cannot = fmt.Sprintf("it has only %d of %d bytes", len(m.Data), m.Size)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		one.Headers = append(one.Headers, fact{name, strings.Join(m.Headers[name], ", ")})
	}
	one.Body, one.Left = bodyOf(&m)
	return &answer{view: "letter", title: "Dead letter " + one.Number, data: one}, nil
}

// bodyOf returns the body of a letter for people, and how many bytes of it are left out.
func bodyOf(m *deadletter.Message) (text string, left int) {
	switch m.Body.Format {
	case deadletter.FormatJSON, deadletter.FormatRecord:
		var indented bytes.Buffer
		if json.Indent(&indented, m.Body.Value, "", "  ") == nil {
			text = indented.String()
		}
	case deadletter.FormatBase64:
		shown := m.Data[:min(len(m.Data), bodyShown/4)]
		return hex.Dump(shown), len(m.Data) - len(shown)
	default:
		text = m.Body.Text
	}
	if len(text) <= bodyShown {
		return text, 0
	}
	return strings.ToValidUTF8(text[:bodyShown], ""), len(text) - bodyShown
}

// replayLetter sends the message of a letter again. Whoever asks has looked at it.
func (p *Pages) replayLetter(r *http.Request, asks *speaker.Speaker, reader *deadletter.Reader) (*answer, error) {
	return p.handleLetter(r, asks, func(ctx context.Context, number deadletter.Number) (string, error) {
		replayed, err := reader.ReplaySeen(ctx, number)
		if replayed.Superseded {
			return "letter-superseded", err
		}
		return "letter-replayed", err
	})
}

func (p *Pages) deleteLetter(r *http.Request, asks *speaker.Speaker, reader *deadletter.Reader) (*answer, error) {
	return p.handleLetter(r, asks, func(ctx context.Context, number deadletter.Number) (string, error) {
		return "letter-deleted", reader.Delete(ctx, number)
	})
}

// handleLetter does something with a letter, which is gone then, and leads to the list.
func (p *Pages) handleLetter(
	r *http.Request, asks *speaker.Speaker, do func(context.Context, deadletter.Number) (said string, err error),
) (*answer, error) {
	number, err := deadletter.ParseNumber(r.PathValue("number"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), lettersTime)
	defer cancel()
	word, err := do(ctx, number)
	if err != nil {
		return nil, ofNATS(err)
	}
	p.facts.forget() // they count the letters
	return &answer{to: address(asks.Namespace(), "dead-letters") + "?said=" + word}, nil
}
