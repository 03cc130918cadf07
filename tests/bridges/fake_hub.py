"""As much of the Hugging Face hub's file protocol as uploading and downloading take."""

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


class Hub(ThreadingHTTPServer):
    """Repositories in memory; `token` is what whoever writes must show."""

    def __init__(self, token):
        super().__init__(("127.0.0.1", 0), Handler)
        self.token, self.repos, self.asked = token, {}, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server_port}"

    def sha(self, repo):
        held = json.dumps(
            [
                (k, hashlib.sha1(v).hexdigest())
                for k, v in sorted(self.repos[repo].items())
            ]
        )
        return hashlib.sha1(held.encode()).hexdigest()


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        self.server.asked.append(f"{self.command} {unquote(urlsplit(self.path).path)}")

    def answer(self, value, code=200, **headers):
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(code)
        for name, said in headers.items():
            self.send_header(name.replace("_", "-"), said)
        if not isinstance(value, bytes):
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def parts(self):
        return [unquote(p) for p in urlsplit(self.path).path.strip("/").split("/")]

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts, repos = self.parts(), self.server.repos
        if parts[-1] == "validate-yaml":
            return self.answer({"errors": [], "warnings": []})
        if self.headers.get("Authorization") != f"Bearer {self.server.token}":
            return self.answer({"error": "Invalid username or password."}, 401)
        if parts == ["api", "repos", "create"]:
            asked = json.loads(body)
            repo = f"{asked['organization']}/{asked['name']}"
            new = repo not in repos
            repos.setdefault(repo, {".gitattributes": b""})
            url = {"url": f"{self.server.endpoint}/{repo}", "id": repo, "name": repo}
            return self.answer(url, 200 if new else 409)
        repo = "/".join(parts[2:4])
        if parts[4] == "preupload":
            files = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False}
                for f in json.loads(body)["files"]
            ]
            return self.answer({"files": files})
        assert parts[4] == "commit"
        for line in body.splitlines():
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "file":
                repos[repo][value["path"]] = base64.b64decode(value["content"])
            elif item["key"] == "deletedFile":
                repos[repo].pop(value["path"], None)
        made = {"commitOid": self.server.sha(repo), "success": True}
        made["commitUrl"] = f"{self.server.endpoint}/{repo}/commit/{made['commitOid']}"
        return self.answer(made)

    def do_GET(self):
        parts, repos = self.parts(), self.server.repos
        api = parts[:2] == ["api", "models"]
        repo = "/".join(parts[2:4] if api else parts[:2])
        if repo not in repos:
            return self.answer(
                {"error": "Repository not found"}, 404, X_Error_Code="RepoNotFound"
            )
        files, sha = repos[repo], self.server.sha(repo)
        if api and len(parts) > 4 and parts[4] == "tree":
            rows = [
                {
                    "type": "file",
                    "path": name,
                    "size": len(content),
                    "oid": hashlib.sha1(content).hexdigest(),
                }
                for name, content in files.items()
            ]
            return self.answer(rows)
        if api:
            siblings = [{"rfilename": name} for name in files]
            return self.answer(
                {"id": repo, "sha": sha, "siblings": siblings, "private": True}
            )
        assert parts[2] == "resolve"
        content = files["/".join(parts[4:])]
        tag = f'"{hashlib.sha1(content).hexdigest()}"'
        return self.answer(content, ETag=tag, X_Repo_Commit=sha)

    do_HEAD = do_GET
