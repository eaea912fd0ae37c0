package apitext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// yamlProblem says what is wrong with a text that the library cannot read. It finds better words for two well-known traps: values
// that need quotes, and tabs.
func yamlProblem(text string, err error) string {
	problem := strings.TrimPrefix(err.Error(), "yaml: ")
	lines := strings.Split(text, "\n")
	noToken := strings.Contains(problem, "cannot start any token")
	for _, number := range suspects(problem) {
		if number < 1 || number > len(lines) {
			continue
		}
		line, place := lines[number-1], fmt.Sprintf("line %d: ", number)
		value := needsQuotes.FindStringSubmatch(line)
		switch {
		case (noToken || strings.Contains(problem, "tab character")) && indentedByTab(line):
			return place + "is indented by a tab: use spaces"
		case value != nil && (noToken || strings.Contains(problem, "alphabetic or numeric character")):
			text := strings.TrimSpace(value[1])
			return place + "put " + quoted(text) + " in quotes: what begins with " + quoted(text[:1]) + " has a meaning of its own in YAML"
		}
	}
	return problem
}

func indentedByTab(line string) bool {
	return strings.Contains(line[:len(line)-len(strings.TrimLeft(line, " \t"))], "\t")
}

// quoted puts quotation marks around a text without escaping it.
func quoted(text string) string { return `"` + jsontext.Shorten(text) + `"` }

// needsQuotes finds a value that begins with a character that no bare value may begin with. The match ends at the end of the line
// or of a list in brackets.
var needsQuotes = regexp.MustCompile("^(?:[^\"'#]|\"[^\"]*\"|'[^']*')*?(?:^|[-:?]\\s|[\\[,])\\s*([*@`%][^\\]}\\r]*)")

var lineOfProblem = regexp.MustCompile(`^line (\d+): `)

// suspects returns the lines that a problem may be about. The library names none for the first line, and may be off by one.
func suspects(problem string) []int {
	number := 1
	if found := lineOfProblem.FindStringSubmatch(problem); found != nil {
		number, _ = strconv.Atoi(found[1]) // digits, and few of them
	}
	return []int{number, number + 1, number - 1}
}
