package pages

import (
	"net/http"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/apitext"
)

// mostText is how many bytes of a text a page shows.
const mostText = 32 << 10

// cut returns the beginning of a text that is longer than so many bytes, with a mark at its end.
func cut(text string, most int) string {
	shown, _ := readable.Cut(text, most)
	return shown
}

// inTheAPI returns the address of a thing in the HTTP API, which has all of it.
func inTheAPI(namespace string, parts ...string) string {
	return below("/api/carillon/v1/namespaces/", namespace, parts...)
}

// copying is the page with a schedule as others can make it.
type copying struct {
	scheduleHead
	// YAML and Command are empty if the schedule is too large for a page. Export then says how to get it.
	YAML, Command, Export string
}

// scheduleCopy shows a schedule as YAML and as a command line.
func (p *Pages) scheduleCopy(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	d, zone, err := described(r, asks)
	if err != nil {
		return nil, err
	}
	text, err := apitext.EncodeYAML(document{d.ID, d.Schedule})
	if err != nil {
		return nil, err
	}
	c := &copying{scheduleHead: headOf(d.Namespace, d.ID, zone.String(), "copy")}
	if len(text) > mostText {
		c.Export = "carillon schedule export --namespace " + quoted(d.Namespace) + " -- " + quoted(d.ID)
	} else {
		c.YAML, c.Command = string(text), commandOf(d.Namespace, d.ID, &d.Schedule, string(text))
	}
	return &answer{view: "copy", title: "Copy " + d.ID, data: c}, nil
}
