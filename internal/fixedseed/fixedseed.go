// Package fixedseed makes property tests give the same result each time.
//
// Rapid draws a new seed for each run, unless it is told one. A test that fails once in a thousand runs then fails for
// somebody who has changed nothing. Every test package that uses rapid therefore imports this package for its effect:
//
//	import _ "github.com/carillon-scheduler/carillon/internal/fixedseed"
//
// The flag -rapid.seed and the environment variable RAPID_SEED still choose another seed; .ci/new-seeds does so for every
// change. A test of internal/systemtest finds packages that forget the import.
//
// The package imports rapid and the standard library. Only tests may import it.
package fixedseed

import (
	"flag"
	"fmt"

	// rapid must define its flags before this package sets one.
	_ "pgregory.net/rapid"
)

// seed is the seed of all property tests that are not given another one.
const seed = "1"

const seedFlag = "rapid.seed"

func init() {
	f := flag.Lookup(seedFlag)
	if f.Value.String() != f.DefValue || f.DefValue != "0" { // the environment has chosen a seed
		return
	}
	if err := flag.Set(seedFlag, seed); err != nil {
		panic(fmt.Sprintf("set -%s: %v", seedFlag, err))
	}
}
