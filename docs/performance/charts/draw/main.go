// Command draw draws the charts of docs/performance from what the series have measured. The same figures give the same
// files. README.md of the folder above says how to use it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

func main() {
	from := flag.String("from", "../figures.jsonl", "read the results in `FILE`")
	to := flag.String("to", "..", "write the charts to `DIR`")
	flag.Parse()
	if err := run(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	runs, err := figures.Read(from)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return fmt.Errorf("%s has no results: see README.md", from)
	}
	good := figures.Where(runs, func(*figures.Run) bool { return true })
	if bad := len(runs) - len(good); bad > 0 {
		fmt.Printf("left out: %d runs that missed or doubled something\n", bad)
	}
	if versions := figures.Versions(good); len(versions) > 1 {
		fmt.Printf("note: there are figures of several versions: %v\n", versions)
	}
	for _, c := range charts(good) {
		if err := c.write(to); err != nil {
			return err
		}
	}
	return nil
}

// errNothing is the error of a chart of which a panel would be empty.
var errNothing = errors.New("nothing was measured for it")

func (c *chart) write(folder string) error {
	svg, err := c.svg()
	if errors.Is(err, errNothing) {
		fmt.Printf("%s.svg is not drawn: %v\n", c.name, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", c.name, err)
	}
	return os.WriteFile(filepath.Join(folder, c.name+".svg"), svg, 0o644)
}
