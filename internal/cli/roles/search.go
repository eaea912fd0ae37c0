package roles

import "github.com/carillon-scheduler/carillon/internal/search"

// SearchOptions say how a frontend keeps its search index.
type SearchOptions struct {
	// Dir is the folder for it; empty means a temporary one, that is gone when the frontend ends.
	Dir string
	// Off means that there is none, and searches are refused.
	Off bool
}

// searchIndex returns the index of a frontend, or nil.
func (c *Cluster) searchIndex(options SearchOptions) (*search.Index, error) {
	if options.Off {
		return nil, nil
	}
	return search.New(search.Config{
		JS: c.JS, Lanes: c.lanes, Names: c.Names, Shards: c.Facts.Shards, Created: c.Facts.Created,
		Dir: options.Dir, Logger: c.options.Logger,
	})
}
