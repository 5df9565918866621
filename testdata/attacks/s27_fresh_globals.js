// The template was made before any program ran: nothing but the documented is enumerable. Value.
return Object.keys(globalThis).filter(k => !/^(codemode|console|input|set|clear|structuredClone|Text|URL|atob|btoa|crypto|performance|queueMicrotask|Tool|Invalid|Upstream|DOMException|fetch|require|process|Intl|module|exports)/.test(k));
