package pages

import (
	"strings"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/internal/importer/crontab"
	"github.com/carillon-scheduler/carillon/schedule"
)

// crontab returns the request that a line of a crontab stands for. Text becomes the schedule as YAML, and Lost what the line has besides.
func (e *editor) crontab() (request schedule.CreateRequest, err error) {
	entries := crontab.Parse(strings.TrimSpace(e.Line)+"\n", false)
	if len(entries) != 1 {
		return request, schedule.Invalid("line", "has %s with a command: give one, such as 30 2 * * * /usr/bin/backup; carillon import crontab takes whole files",
			plural(len(entries), "line"))
	}
	entry := &entries[0]
	text := importer.Options{TaskQueue: strings.TrimSpace(e.TaskQueue), Zone: strings.TrimSpace(e.TimeZone)}.Documents(entries)[0]
	e.Lost = entry.Notes
	if entry.Problem != nil {
		return request, schedule.Invalid("line", "%v", entry.Problem)
	}
	if err := apitext.DecodeYAML([]byte(text), &request); err != nil {
		return request, err
	}
	if e.ID != "" {
		request.ID = e.ID
	}
	whole, err := apitext.EncodeYAML(document{request.ID, request.Schedule})
	e.Text = string(whole)
	return request, err
}
