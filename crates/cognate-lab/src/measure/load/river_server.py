"""A server for River's logistic regression as people write it: FastAPI, a model per task, all of it in memory.

usage: python3 river_server.py PORT

The routes and bodies are those of `cognate serve`. What was learnt is lost with the process.
"""

import sys
from collections import defaultdict

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from river import linear_model, optim


class Example(BaseModel):
    task: str
    features: dict[str, float]
    label: int | None = None


class Examples(BaseModel):
    examples: list[Example]


app = FastAPI()
models = defaultdict(lambda: linear_model.LogisticRegression(optim.SGD(1.0)))


@app.post("/v1/models/default/learn")
def learn(body: Examples):
    margins = []
    for example in body.examples:
        model = models[example.task]
        margins.append(model.predict_proba_one(example.features)[True])
        model.learn_one(example.features, example.label == 1)
    return {"learned": len(margins), "margins": margins}


@app.post("/v1/models/default/predict")
def predict(body: Examples):
    predictions = []
    for example in body.examples:
        probability = models[example.task].predict_proba_one(example.features)[True]
        predictions.append({"label": 1 if probability > 0.5 else -1, "probability": probability})
    return {"predictions": predictions}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
