package results

import (
	"context"
	"fmt"
	"math"
	"mime"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/store"
)

// MostRead is the most that one read of a client returns, in bytes of JSON. Bytes of content are JSON in base64.
const MostRead = 8 << 20

// longestMediaType is longer than any that is in use.
const longestMediaType = 200

// mediaType is the MIME type of content. A server may have written anything there.
func mediaType(c *hostfns.Content) string {
	if _, _, err := mime.ParseMediaType(c.MIMEType); err == nil && len(c.MIMEType) <= longestMediaType {
		return c.MIMEType
	}
	if c.IsText {
		return "text/plain"
	}
	return "application/octet-stream"
}

func describe(mimeType string, size int64) string { return mimeType + " of " + plural(size, "byte") }

// readBytes reads a part of content that is no text, of at most most bytes in base64. As a whole it stays on the host,
// so that it may have [MostRead].
func readBytes(ctx context.Context, r *store.Result, p *hostfns.Part, most int) ([]byte, error) {
	what := describe(r.MIMEType, r.Bytes)
	switch {
	case p.Pointer != "":
		return nil, &hostfns.ArgumentError{Path: "/pointer", Expected: "none, because it is " + what,
			Got: shortened(p.Pointer)}
	case p.Lines:
		return nil, &hostfns.ArgumentError{Path: "/lines", Expected: "a text", Got: what}
	}
	from, count := int64(0), int64(math.MaxInt64)
	if p.From == nil && p.Count == nil {
		most = MostRead
	}
	if p.From != nil {
		from = min(*p.From, r.Bytes)
	}
	if p.Count != nil {
		count = *p.Count
	}
	count = min(count, r.Bytes-from)
	if fits := int64(most-2) / 4 * 3; count > fits {
		return nil, &hostfns.ArgumentError{Path: "/count", Expected: fmt.Sprintf("at most %d bytes: read it in ranges, such "+
			"as {from: %d, count: %d}", fits, from, fits), Got: what}
	}
	part := make([]byte, 0, count)
	for int64(len(part)) < count {
		at := from + int64(len(part))
		chunk, err := r.Chunk(ctx, int(at/chunkSize))
		if err != nil {
			return nil, err
		}
		if want := min(chunkSize, r.Bytes-at/chunkSize*chunkSize); int64(len(chunk)) != want {
			return nil, errDamaged
		}
		chunk = chunk[at%chunkSize:]
		part = append(part, chunk[:min(int64(len(chunk)), count-int64(len(part)))]...)
	}
	return part, nil
}
