package rest

import (
	"slices"
	"strings"
)

// The names by which APIs page. They are plain: lower case, without signs, see [plainName].
var (
	nextURLs = []string{"@odatanextlink", "odatanextlink", "nexturl", "nextlink", "nextpageurl", "nextpageuri", "nexthref",
		"next"}
	mores      = []string{"hasmore", "hasnextpage", "hasnext"}
	pageNames  = []string{"page", "pagenumber", "pageno", "pagenum", "currentpage"}
	startNames = []string{"offset", "skip", "startat"}
	totals     = []string{"total", "totalcount", "totalresults", "totalitems", "totalrecords"}
	pageTotals = []string{"totalpages", "pagecount", "lastpage", "numpages", "pages"}
	lists      = []string{"data", "items", "results", "value", "values", "records", "entries", "elements", "list"}
	// containers are the objects in which an answer speaks of its pages.
	containers = []string{"meta", "metadata", "responsemetadata", "pagination", "paging", "pageinfo", "page", "links",
		"cursors", "next", "d"}
)

// A cursor says which arguments a member of an answer may be, the likelier first.
type cursor struct {
	member    string
	arguments []string
}

var cursors = []cursor{
	{"nextpagetoken", []string{"pagetoken", "nextpagetoken"}},
	{"nextcursor", []string{"cursor", "startcursor", "startingafter", "after", "pagecursor", "nextcursor"}},
	{"nexttoken", []string{"nexttoken", "token"}},
	{"nextcontinuationtoken", []string{"continuationtoken"}},
	{"continuationtoken", []string{"continuationtoken"}},
	{"nextmarker", []string{"marker"}},
	{"continue", []string{"continue"}},
	{"endcursor", []string{"after", "cursor"}},
	{"after", []string{"after"}},
	{"nextoffset", []string{"offset"}},
	{"offset", []string{"offset"}}, // a text, not the number of an element
	{"next", []string{"cursor", "pagetoken", "after", "startingafter", "startcursor", "next"}},
	{"nextpage", []string{"page", "pagetoken", "pagenumber"}},
	{"cursor", []string{"cursor"}},
}

// counts reports whether a parameter is a number by its name.
func counts(name string) bool {
	return slices.Contains(pageNames, plainName(name)) || slices.Contains(startNames, plainName(name))
}

// pages reports whether a parameter says which page is wanted, by its name.
func pages(name string) bool {
	return counts(name) || slices.ContainsFunc(cursors, func(c cursor) bool {
		return slices.Contains(c.arguments, plainName(name))
	})
}

// plainName is a name in lower case without signs, as nextPageToken and next_page_token are one name.
func plainName(s string) string {
	return strings.ToLower(signs.Replace(s))
}

var signs = strings.NewReplacer("_", "", "-", "", ".", "", "$", "")
